// A multiple-choice question with feedback for every option. Runs in anywidget and in the site's host.

import { control, groupName, node } from "./common.js";

// Text with `code` between backticks, added as nodes: nothing an author writes is read as HTML.
function appendText(parent, text) {
  text.split("`").forEach((part, i) => {
    parent.append(i % 2 ? node("code", { textContent: part }) : part);
  });
  return parent;
}

function option(answer, index, name) {
  const input = control(node("input", { type: "radio", name, value: index }));
  return node("label", {}, input, appendText(node("span"), answer.text));
}

function render({ model, el }) {
  const { question, answers } = model.get("spec");
  const name = groupName();
  el.classList.add("kv-box", "kv-quiz");

  const options = answers.map((answer, i) => option(answer, i, name));
  const check = control(node("button", { type: "submit", textContent: "Check", className: "kv-button" }));
  const feedback = node("p", { className: "kv-feedback" });
  feedback.setAttribute("role", "status");
  const form = node("form", {}, node("fieldset", {}, appendText(node("legend"), question), ...options), check, feedback);

  const say = (state, verdict, text) => {
    feedback.dataset.state = state;
    feedback.replaceChildren(node("strong", { textContent: verdict }), " ");
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

  el.append(form);
}

export default { render };
