"""Chapter 3's page: the playground against the package's pools, by mouse and keyboard."""

import random
from collections import deque
from dataclasses import astuple

import pytest
from site_harness import Visitor, module_url
from test_site_pages import axe_faults, off_the_screen

from kvcourse.blocks import OutOfBlocks
from kvcourse.reservation import OutOfSlots, PagedPool
from kvcourse.serving import simulate
from kvcourse.widgets import allocator

pytestmark = pytest.mark.browser
CHAPTER = "book/ch03.html"
KINDS = ("token", "reserved", "internal", "rounding", "free")


def painted(pool, number) -> dict[int, str]:
    """What each slot of a running request is."""
    request = pool.requests[number]
    if isinstance(pool, PagedPool):
        slots = [
            block * allocator.BLOCK + i for block in request.table.block_ids for i in range(allocator.BLOCK)
        ]
    else:
        slots = range(request.region.start, request.region.start + request.region.size)
    ends = pool.holding(number)  # stored, used, asked, held: each part of the next
    return {
        slot: KINDS[next(kind for kind, end in enumerate(ends) if place < end)]
        for place, slot in enumerate(slots)
    }


def holes(pool) -> list[list[int]]:
    if isinstance(pool, PagedPool):
        free = [block for block, references in enumerate(pool.blocks.ref_counts) if not references]
        return [[block * allocator.BLOCK, allocator.BLOCK] for block in free]
    return [list(hole) for hole in pool.allocator.holes()]


def steps_of_the_pools(policy, requests, added):
    """Each step of the package's pools: [slots, holes, running, waiting, finished, preempted], the split."""
    pool, running, finished, preempted = allocator.pool(policy), {}, 0, 0
    waiting = deque((number, *lengths) for number, lengths in enumerate(requests))
    for step in range(1, allocator.STEPS + 1):
        for number, (when, *lengths) in enumerate(added, start=len(requests)):
            if when == step:
                waiting.appendleft((number, *lengths))
        while waiting:
            number, prompt, output = waiting[0]
            try:
                pool.admit(number, prompt, output)
            except (OutOfSlots, OutOfBlocks):
                break
            running[number] = list(waiting.popleft()[1:])
        for number in list(running):
            while number in running:
                try:
                    pool.append(number)
                except OutOfBlocks:
                    newest = next(reversed(running))
                    pool.finish(newest)
                    waiting.appendleft((newest, *running.pop(newest)))
                    preempted += 1
                else:
                    stored, to_come = running[number]
                    running[number] = [stored + 1, to_come - 1]
                    break
        slots = [["free", None]] * allocator.SLOTS
        for number in running:
            for slot, kind in painted(pool, number).items():
                slots[slot] = [kind, number]
        yield [slots, holes(pool), len(running), len(waiting), finished, preempted], pool.split()
        for number in [number for number, (_, to_come) in running.items() if not to_come]:
            pool.finish(number)
            del running[number]
            finished += 1


def cases():
    """The page's own requests, then lists of all densities, with and without additions of the learner."""
    generator = random.Random(0)

    def lengths(most):
        prompt = generator.randint(1, allocator.LONGEST - 1)
        return [prompt, generator.randint(1, min(most, allocator.LONGEST - prompt))]

    yield [[request.prompt, request.output] for request in allocator.requests()], []
    for count in (0, 1, 3, 12, 40, 96, 96, 96):
        most, own = (
            generator.choice((2, 5, allocator.LONGEST)),
            generator.choice((0, 3, allocator.MOST_ADDED)),
        )
        added = [[generator.randint(1, allocator.STEPS), *lengths(most)] for _ in range(own)]
        yield [lengths(most) for _ in range(count)], added


def test_the_oracle_itself_is_the_simulator_step_by_step():
    requests = allocator.requests()
    for policy in allocator.POLICIES:
        run = simulate(allocator.pool(policy), requests, steps=allocator.STEPS, sample_every=1)
        lengths = [[request.prompt, request.output] for request in requests]
        steps = list(steps_of_the_pools(policy, lengths, []))
        assert [(sample.split, sample.running) for sample in run.samples] == [
            (split, numbers[2]) for numbers, split in steps
        ]
        assert run.preempted == steps[-1][0][-1]


def test_the_module_holds_what_the_pools_hold(visit):
    """Slot by slot, in every step; the module runs in the browser."""
    asked = [[policy, *case] for case in cases() for policy in allocator.POLICIES]
    shown = visit(CHAPTER).evaluate(
        f"""async asked => {{
            const {{ run }} = await import("{module_url("allocator")}");
            return asked.map(([policy, requests, added]) => run(policy, requests, added).map((frame) => [
                frame.slots,
                frame.holes.map(({{ start, size }}) => [start, size]).sort((a, b) => a[0] - b[0]),
                frame.running, frame.waiting, frame.finished, frame.preempted,
            ]));
        }}""",
        asked,
    )
    for (policy, requests, added), frames in zip(asked, shown, strict=True):
        steps = enumerate(zip(frames, steps_of_the_pools(policy, requests, added), strict=True), start=1)
        for step, (frame, (wanted, split)) in steps:
            assert frame == wanted, f"{policy}, {len(requests)} requests, {added} added, step {step}"
            kinds = [kind for kind, _ in frame[0]]
            assert [kinds.count(kind) for kind in KINDS] == [astuple(split)[i] for i in (0, 1, 2, 4, 3)], (
                "the split is tokens, reservation, internal, external, other"
            )


def shares(widget) -> list[str]:
    return widget.locator(".kv-kinds td:nth-child(2)").all_inner_texts()


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_the_playground_by_mouse_and_keyboard(visit, theme, width):
    page = visit(CHAPTER, theme, width)
    widget = page.locator(".kv-allocator")
    status = widget.locator(".kv-status")
    assert status.get_attribute("aria-live") == "polite"
    assert "maximum length: 4 requests run" in status.inner_text()
    assert "in one piece: 12 slots are free, the largest piece has 12." in status.inner_text()
    assert shares(widget)[3:] == ["0.0 %", "8.6 %"]
    assert widget.locator(".kv-memory > .kv-mem").count() == allocator.SLOTS

    widget.get_by_label("Maximum length").focus()
    page.keyboard.press("ArrowRight")
    assert "power of two" in status.inner_text() and shares(widget)[3] != "0.0 %"
    widget.get_by_label("Oracle").check()
    assert shares(widget)[2] == "0.0 %"
    assert "Oracle" in widget.locator(".kv-current th").inner_text()
    widget.get_by_label("Paged").check()
    assert "are kept for those that run" in status.inner_text()

    steps = widget.get_by_label("Step", exact=True)
    steps.focus()
    page.keyboard.press("Home")
    assert "Step 1 of 48" in status.inner_text()
    widget.get_by_role("button", name="Next").click()
    page.keyboard.press("Enter")
    assert "Step 3 of 48" in status.inner_text()
    widget.get_by_role("button", name="Back").click()
    assert "Step 2 of 48" in status.inner_text()
    finished = widget.locator(".kv-policies td:last-child")
    widget.get_by_label("Step", exact=True).press("End")
    ends = [allocator.outcome(policy) for policy in allocator.POLICIES]
    assert finished.all_inner_texts() == [
        str(run.finished - at_the_end(policy)) for policy, run in zip(allocator.POLICIES, ends, strict=True)
    ]
    assert page.visitor.problems + off_the_screen(page) == []
    for policy in ("Power of two", "Paged"):  # the first state is looked at with every page
        widget.get_by_label(policy).check()
        assert axe_faults(page) == [], policy


def at_the_end(policy) -> int:
    """Requests that store their last token in the last step: they leave after what it shows."""
    requests = [[request.prompt, request.output] for request in allocator.requests()]
    *_, (last, _) = steps_of_the_pools(policy, requests, [])
    return allocator.outcome(policy).finished - last[4]


def test_a_request_of_ones_own(visit):
    page = visit(CHAPTER)
    widget = page.locator(".kv-allocator")
    status = widget.locator(".kv-status")
    before = status.inner_text()
    widget.get_by_label("Your prompt").press("Home")
    widget.get_by_label("Your output").press("End")
    assert widget.get_by_label("Your output").get_attribute("aria-valuetext") == "16 tokens"
    add = widget.get_by_role("button", name="Add it to the head of the queue")
    add.click()
    assert "Step 13 of 48" in status.inner_text()
    own = str(allocator.COUNT + 1)
    widget.get_by_role("button", name="Back").click()
    assert status.inner_text() == before, "a request of step 13 changed step 12"
    for _ in range(12):
        widget.get_by_role("button", name="Next").click()
        if own in widget.locator(".kv-memory > .kv-mem").all_inner_texts():
            break
    else:
        pytest.fail("the request never got memory")
    for _ in range(allocator.MOST_ADDED - 1):
        add.click()
    assert add.is_disabled()
    widget.get_by_role("button", name="Start over").click()
    assert "Step 1 of 48" in status.inner_text() and add.is_enabled()
    assert page.visitor.problems == []


def test_play_runs_to_the_end_and_pause_stops_it(visit):
    page = visit(CHAPTER)
    page.clock.install()
    page.reload()
    widget = page.locator(".kv-allocator")
    status = widget.locator(".kv-status")
    widget.get_by_role("button", name="Play").click()
    assert status.get_attribute("aria-live") == "off"
    page.clock.run_for(1500)
    assert "Step 14 of" in status.inner_text()
    widget.get_by_role("button", name="Pause").click()
    page.clock.run_for(5000)
    assert "Step 14 of" in status.inner_text() and status.get_attribute("aria-live") == "polite"
    widget.get_by_role("button", name="Play").click()
    page.clock.run_for(700 * allocator.STEPS)
    assert "Step 48 of 48" in status.inner_text()
    assert widget.get_by_role("button", name="Play").is_visible()


def test_without_a_script_the_page_still_says_it(chrome, base):
    context = chrome.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{base}{CHAPTER}")
    told = page.locator("[data-module=allocator]").inner_text()
    assert "A pool of 140 slots, over 48 steps" in told and "paged, " in told
    context.close()


def test_it_plays_from_disk_too(chrome, site):
    visitor = Visitor(chrome, "file://", "dark", 390)
    page = visitor.open((site / CHAPTER).as_uri())
    widget = page.locator(".kv-allocator")
    widget.get_by_label("Paged").check()
    widget.get_by_role("button", name="Next").click()
    assert "Step 13 of 48, paged" in widget.locator(".kv-status").inner_text()
    assert visitor.problems == []
    visitor.close()
