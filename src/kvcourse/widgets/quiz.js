// A multiple-choice question with feedback for every option. Runs in anywidget and in the site's host.

// Text with `code` between backticks, added as nodes: nothing an author writes is read as HTML.
function appendText(parent, text) {
  text.split("`").forEach((part, i) => {
    if (i % 2) {
      const code = document.createElement("code");
      code.textContent = part;
      parent.append(code);
    } else parent.append(part);
  });
}

function option(answer, index, name) {
  const label = document.createElement("label");
  const input = document.createElement("input");
  Object.assign(input, { type: "radio", name, value: index });
  input.dataset.lmSuppressShortcuts = "true"; // JupyterLab would take the arrow keys
  const text = document.createElement("span");
  appendText(text, answer.text);
  label.append(input, text);
  return label;
}

function render({ model, el }) {
  const { question, answers } = model.get("spec");
  const name = `kvq-${Math.random().toString(36).slice(2)}`; // each widget is its own module in JupyterLab
  el.classList.add("kv-box", "kv-quiz");

  const form = document.createElement("form");
  const fieldset = document.createElement("fieldset");
  const legend = document.createElement("legend");
  appendText(legend, question);
  const options = answers.map((answer, i) => option(answer, i, name));
  fieldset.append(legend, ...options);

  const check = document.createElement("button");
  Object.assign(check, { type: "submit", textContent: "Check", className: "kv-button" });
  check.dataset.lmSuppressShortcuts = "true";
  const feedback = document.createElement("p");
  feedback.className = "kv-feedback";
  feedback.setAttribute("role", "status");

  const say = (state, verdict, text) => {
    feedback.dataset.state = state;
    const strong = document.createElement("strong");
    strong.textContent = verdict;
    feedback.replaceChildren(strong, " ");
    appendText(feedback, text);
  };
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const chosen = form.querySelector("input:checked");
    if (!chosen) return say("none", "Choose an answer first.", "");
    const answer = answers[Number(chosen.value)];
    if (answer.correct) say("right", "✓ Correct.", answer.feedback);
    else say("wrong", "✗ Not yet.", answer.feedback);
  });
  // Feedback belongs to the answer it was given for.
  form.addEventListener("change", () => {
    delete feedback.dataset.state;
    feedback.replaceChildren();
  });

  form.append(fieldset, check, feedback);
  el.append(form);
}

export default { render };
