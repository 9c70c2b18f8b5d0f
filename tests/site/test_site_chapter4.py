"""Chapter 4's page: the explorer against the block manager, by mouse and keyboard."""

import random

import pytest
from site_harness import Visitor, module_url
from test_site_pages import axe_faults, off_the_screen

from kvcourse.blocks import BlockManager
from kvcourse.errors import UserError
from kvcourse.widgets import block_table

pytestmark = pytest.mark.browser
CHAPTER = "book/ch04.html"
LISTS, LENGTH = 80, 40


def any_operation(rng: random.Random) -> list:
    """One of any kind; the manager must refuse many of them."""
    kind = rng.choice(["start", "append", "append", "append", "fork", "fork", "free"])
    name, other = rng.choices(block_table.NAMES[:4], k=2)
    if kind in ("start", "append"):
        return [kind, name, rng.choice([1, 1, 1, 2, 3, 5, block_table.MOST_TOKENS])]
    return [kind, name, other] if kind == "fork" else [kind, name]


def seen(manager: BlockManager, refused: str | None) -> list:
    tables = {name: [manager.table(name).block_ids, manager.num_tokens(name)] for name in manager.sequences}
    pool = manager.pool
    counts = [manager.counters.blocks_copied, manager.filled_slots()]
    return [refused, tables, list(pool.ref_counts), list(pool.free_list), *counts]


def test_the_module_does_what_the_block_manager_does(visit):
    """Random lists of operations; after each one both must show the same tables, counts and free list."""
    rng = random.Random(4)
    cases, wanted = [], []
    for _ in range(LISTS):
        size = rng.choice(block_table.BLOCK_SIZES)
        manager = BlockManager(block_table.SLOTS // size, size, prefix_caching=False)
        operations, states = [any_operation(rng) for _ in range(LENGTH)], []
        for operation in operations:
            try:
                block_table.apply(manager, operation)
                states.append(seen(manager, None))
            except UserError as error:
                states.append(seen(manager, type(error).__name__))
        cases.append([size, operations])
        wanted.append(states)
    refused = {state[0] for states in wanted for state in states}
    assert refused == {None, "OutOfBlocks", "SequenceTooLong", "SequenceError"}
    assert sum(states[-1][4] for states in wanted) > LISTS / 2, "too few copies to tell"

    shown = visit(CHAPTER).evaluate(
        f"""async cases => {{
            const {{ newPool, apply, written }} = await import("{module_url("block_table")}");
            return cases.map(([size, operations]) => {{
                const pool = newPool(size);
                return operations.map(operation => {{
                    const refused = apply(pool, operation).refused || null;
                    const tables = {{}};
                    for (const [name, table] of Object.entries(pool.tables))
                        tables[name] = [[...table.blocks], table.tokens];
                    const filled = pool.refs.reduce((sum, _, block) => sum + written(pool, block), 0);
                    return [refused, tables, [...pool.refs], [...pool.free],
                            pool.copied, filled];
                }});
            }});
        }}""",
        cases,
    )
    assert shown == wanted


class Explorer:
    """The widget as a reader meets it."""

    def __init__(self, page):
        self.widget = page.locator(".kv-block-table")

    def press(self, *names: str) -> str:
        for name in names:
            self.widget.get_by_role("button", name=name, exact=True).click()
        return self.status

    @property
    def status(self) -> str:
        return self.widget.locator(".kv-status").inner_text()

    @property
    def formula(self) -> str:
        return " ".join(self.widget.locator(".kv-formula").inner_text().split())

    def gauge(self, name: str) -> str:
        return self.widget.locator(f"[data-gauge={name}]").inner_text().replace("\u00a0", " ")

    def block(self, number: int) -> str:
        return self.widget.locator(f"[data-block='{number}']").get_attribute("aria-label")


@pytest.mark.parametrize(("theme", "width"), [("light", 1280), ("dark", 390)])
def test_fork_copy_and_free_by_mouse(visit, theme, width):
    page = visit(CHAPTER, theme, width)
    explorer = Explorer(page)
    assert explorer.formula.endswith("slot = 1 × 4 + 2 = 6")
    assert "Block 4 left the free list." in explorer.status

    assert "No block was copied." in explorer.press("Fork")
    assert explorer.block(4) == "block 4: held by A and C, reference count 2, 2 of 4 slots written"
    told = explorer.press("Append 1 token")
    assert (
        told
        == "Copy-on-write: A also holds block 4. Its 2 written slots went to block 5, and C writes there."
    )
    assert explorer.block(4) == "block 4: held by A, reference count 1, 2 of 4 slots written"
    assert explorer.block(5).endswith("3 of 4 slots written, copied from block 4")
    assert (explorer.gauge("blocks"), explorer.gauge("copied")) == ("6 of 12 = 50 %", "1")
    assert explorer.gauge("slots") == "18 of 48 = 38 %" and explorer.gauge("alone") == "8"

    explorer.widget.get_by_role("radio", name="A 10 tokens block table 0, 1, 4").check()
    told = explorer.press("Free")
    assert "block 4 went back" in told and "blocks 1 and 0 stay, for others hold them" in told
    assert explorer.block(4) == "block 4: free"
    assert explorer.widget.locator(".kv-free-list").inner_text().startswith("Free, the next one first: 4 6 7")
    found = [*page.visitor.problems, *off_the_screen(page)]  # before axe, which asks for style sheets itself
    assert not [*found, *axe_faults(page)]


def test_a_full_pool_refuses_and_goes_on(visit):
    page = visit(CHAPTER)
    explorer = Explorer(page)
    told = explorer.press(*["Append 4"] * 8)
    assert "Refused, out of blocks: appending to A needs 1 free block, and 0 are free." in told
    assert explorer.gauge("blocks") == "12 of 12 = 100 %" and explorer.gauge("slots") == "43 of 48 = 90 %"
    explorer.widget.get_by_role("radio", name="B 5 tokens").check()
    explorer.press("Free")
    assert "Block 3 left the free list" in explorer.press("Append 4")
    for _ in range(20):
        explorer.press("Append 4")
    assert "the whole pool has 12. Waiting will not help." in explorer.status

    assert explorer.press("Start over") == "Back to the beginning."
    assert explorer.gauge("blocks") == "5 of 12 = 42 %"
    assert explorer.press(*["Undo"] * 4) == "There is nothing to undo."
    assert explorer.press("Append 1 token") == "There is no sequence. Start one first."
    assert "at most" in explorer.press(*["Start a sequence"] * 6)
    assert page.visitor.problems == []


def test_another_block_size_is_the_same_steps_again(visit):
    explorer = Explorer(visit(CHAPTER))
    sizes = explorer.widget.get_by_label("Block size")
    for size, blocks in ((2, "8 of 24 = 33 %"), (8, "3 of 6 = 50 %"), (16, "2 of 3 = 67 %")):
        sizes.select_option(str(size))
        assert explorer.status == f"The same steps in blocks of {size} tokens."
        assert explorer.gauge("blocks") == blocks and explorer.gauge("slots") == "15 of 48 = 31 %"
    sizes.select_option("4")
    explorer.press("Start a sequence", "Start a sequence")
    sizes.select_option("16")
    assert "From step 5 on they do not fit, so 1 step is left out." in explorer.status


def test_positions_and_sequences_by_keyboard(visit):
    page = visit(CHAPTER)
    explorer = Explorer(page)
    position = explorer.widget.get_by_role("slider")
    position.focus()
    page.keyboard.press("End")
    assert "table[9 // 4] = table[2] = 4" in explorer.formula and "slot = 4 × 4 + 1 = 17" in explorer.formula
    assert position.get_attribute("aria-valuetext") == "position 9 of A, slot 17"
    page.keyboard.press("ArrowLeft")
    assert explorer.formula.endswith("slot = 4 × 4 + 0 = 16")
    explorer.widget.get_by_role("radio").first.focus()
    page.keyboard.press("ArrowDown")
    assert explorer.formula.startswith("Position 0 of B:") and explorer.formula.endswith("= 8")
    explorer.widget.get_by_role("button", name="Fork").focus()
    page.keyboard.press("Enter")
    assert explorer.status.startswith("C is a fork of B")
    focused = page.evaluate("document.activeElement.textContent")
    assert focused == "Fork", "a drawing must not take the focus away"
    assert explorer.widget.locator(".kv-status").get_attribute("aria-live") == "polite"


def test_from_disk_and_without_scripts(chrome, base, site):
    visitor = Visitor(chrome, "file://")
    explorer = Explorer(visitor.open((site / CHAPTER).as_uri()))
    assert "No block was copied." in explorer.press("Fork")
    assert visitor.problems == []
    visitor.close()
    context = chrome.new_context(java_script_enabled=False)
    page = context.new_page()
    page.goto(f"{base}{CHAPTER}")
    assert (
        "A, 10 tokens: 0, 1, 4; B, 5 tokens: 2, 3." in page.locator("[data-module=block_table]").inner_text()
    )
    context.close()
