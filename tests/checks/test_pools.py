"""References for contiguous memory: against the package's allocators and its event-by-event simulator."""

import random

import pytest

from kvcourse.checks import CheckFailed, check, hidden
from kvcourse.checks.mistakes import diagnose
from kvcourse.checks.pools import (
    SLIPS,
    Held,
    asked,
    draw_books,
    draw_chats,
    draw_running,
    faults,
    power_above,
    run,
    slips,
)
from kvcourse.reservation import (
    BuddyAllocator,
    ContiguousPool,
    MaximumLength,
    Oracle,
    OutOfSlots,
    PowerOfTwo,
    RequestTooLong,
)
from kvcourse.serving import simulate
from kvcourse.workloads import Request

POLICIES = {"max": MaximumLength, "pow2": PowerOfTwo, "oracle": Oracle}


def with_asked(policy, chats, longest):
    return [(prompt, output, asked(policy, prompt, output, longest)) for prompt, output in chats]


# ---- a pool slot by slot -------------------------------------------------------------------------


@pytest.mark.parametrize("num_slots", [1, 2, 11, 64, 100])
def test_the_packages_allocator_passes_in_any_order(num_slots):
    """So `fits`, which looks at slots, is never wrong about what merged halves can hold."""
    rng, pool, held, live = random.Random(num_slots), BuddyAllocator(num_slots), Held(num_slots), []
    for _ in range(300):
        if live and rng.random() < 0.5:
            start = live.pop(rng.randrange(len(live)))
            pool.free(start)
            held.gave_back(start)
            continue
        size, got = rng.randint(1, max(1, num_slots // 2)), None
        try:
            got = pool.allocate(size).start
            live.append(got)
        except (OutOfSlots, RequestTooLong):
            pass
        held.took(check, got, size, "allocate")


@pytest.mark.parametrize(
    ("before", "got", "size", "part"),
    [([], None, 8, "It is refused.* 8 free slots lie together"), ([], 4, 8, "and starts at 4"),
     ([], 16, 1, "of 16 in the pool"), ([], -8, 8, "inside the pool"), ([0], 0, 4, "in another one"),
     ([4], 0, 5, "It has slots 0 to 7"), ([], "0", 4, "or None, is expected"), ([], True, 1, "It is True")],
)  # fmt: skip
def test_a_wrong_answer_is_told(before, got, size, part):
    held = Held(16)
    for start in before:
        held.took(check, start, 4, "before")
    with pytest.raises(CheckFailed, match=part):
        held.took(check, got, size, "allocate")
    with pytest.raises(CheckFailed) as caught:
        held.took(hidden, got, size, "allocate")
    assert not any(letter.isdigit() for letter in str(caught.value))


def test_refusing_is_right_where_no_aligned_piece_is_free():
    held = Held(16)
    for start in (0, 12):
        held.took(check, start, 4, "before")
    held.took(check, None, 8, "slots 4 to 11 are free, and no region of 8 starts at 4")
    held.gave_back(0)
    assert held.fits(8) and not held.fits(9)


# ---- a run ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", POLICIES)
@pytest.mark.parametrize(("num_slots", "longest", "steps"), [(15_728, 2048, 300), (5000, 2048, 97)])
def test_a_run_is_that_of_the_packages_simulator(policy, num_slots, longest, steps):
    chats = draw_chats(random.Random(steps), 600)
    ours = run(policy, with_asked(policy, chats, longest), num_slots, longest, steps)
    pool = ContiguousPool(num_slots, POLICIES[policy](longest))
    theirs = simulate(pool, [Request(0.0, *chat) for chat in chats], steps=steps)
    shares = theirs.shares()
    for part in ("tokens", "reservation", "internal"):
        assert ours[part] == pytest.approx(shares[part], abs=1e-9)
    assert ours["external"] == pytest.approx(shares["external_and_other"], abs=1e-9)
    assert (ours["batch"], ours["steps"]) == (pytest.approx(theirs.batch), theirs.steps)


def test_the_worked_example_of_assignment_3():
    seen = run("max", [(3, 2, 8), (2, 1, 8), (1, 4, 8)], 20, 8, 100)
    assert (seen["tokens"], seen["batch"], seen["steps"]) == (pytest.approx(26), 1.4, 5)


@pytest.mark.parametrize("seed", range(6))
def test_the_shares_come_in_the_papers_order(seed):
    chats = draw_chats(random.Random(seed), 1500)
    seen = {policy: run(policy, with_asked(policy, chats, 2048), 15_728, 2048, 800) for policy in POLICIES}
    assert seen["oracle"]["tokens"] > seen["pow2"]["tokens"] > seen["max"]["tokens"]
    assert seen["max"]["internal"] > seen["pow2"]["internal"] > seen["oracle"]["internal"] == 0
    assert seen["max"]["external"] == pytest.approx(100 * 1392 / 15_728)
    assert min(seen["pow2"]["external"], seen["oracle"]["external"]) > seen["max"]["external"]


@pytest.mark.parametrize("slip", [*SLIPS, "summed", "allowed", "slots", "fraction"])
def test_a_slip_is_recognized_by_its_value(slip):
    chats = [(3, 3), (2, 1), (4, 5), (9, 20), (1, 4), (2, 5), (1, 1)]
    known = slips("pow2", with_asked("pow2", chats, 30), 40, 30, 200)[
        "tokens" if slip != "cut" else "internal"
    ]
    assert len(diagnose("run_share", known[slip], **known)) == 1


# ---- inputs and books ----------------------------------------------------------------------------


def test_drawn_requests_have_five_different_parts():
    for request in draw_running(random.Random(0), 50):
        marks = [request[mark] for mark in ("stored", "final", "asked", "region")]
        assert marks == sorted(set(marks)) and power_above(marks[-1]) == marks[-1]


@pytest.mark.parametrize("kind", ["n", "o", "p", "t", "op", "ot", "pt", "opt"])
def test_drawn_books_have_the_faults_they_are_meant_to_have(kind):
    for seed in range(50):
        num_slots, regions = draw_books(random.Random(seed), kind)
        assert faults(num_slots, regions) == frozenset(kind)


def test_faults_of_small_books():
    assert faults(43, [(0, 30, 30), (20, 25, 25)]) == {"o", "p"}
    assert faults(16, [(0, 8, 8), (8, 8, 3)]) == {"n"} == faults(16, [])
    assert faults(8, [(9, 4, 1), (10, 1, 1)]) == {"o", "p"}
    assert faults(16, [(8, 4, 9)]) == {"t"}
