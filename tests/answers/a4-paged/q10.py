# ruff: noqa
# Problem 10: which block size?

# %% right: math.ceil, a list of those that pass, a count
import math


def table_entries(lengths, block_size):
    return sum(math.ceil(n / block_size) for n in lengths)


def waste_share(lengths, block_size):
    held = table_entries(lengths, block_size) * block_size
    return (held - sum(lengths)) / held


def choose(waste, most):
    return sorted(size for size in waste if waste[size] <= most)[-1]


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    count = 0
    for n in lengths:
        needed = math.ceil(n / block_size)
        if num_blocks - needed < watermark_blocks:
            break
        num_blocks -= needed
        count += 1
    return count


# %% right: NumPy
import numpy as np


def table_entries(lengths, block_size):
    return ((np.array(lengths) + block_size - 1) // block_size).sum()


def waste_share(lengths, block_size):
    n = np.array(lengths)
    return (-n % block_size).sum() / (-(-n // block_size) * block_size).sum()


def choose(waste, most):
    sizes = np.array(list(waste))
    return sizes[np.array(list(waste.values())) <= most].max()


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    held = np.cumsum(-(-np.array(lengths) // block_size))
    return int((held <= num_blocks - watermark_blocks).sum())


# %% right: recursion, and lists that are used up
def table_entries(lengths, block_size):
    entries = 0
    while lengths:
        entries += -(-lengths.pop() // block_size)
    return entries


def waste_share(lengths, block_size):
    tokens, slots = 0, 0
    while lengths:
        n = lengths.pop()
        tokens, slots = tokens + n, slots + n + -n % block_size
    return 1 - tokens / slots


def choose(waste, most):
    best = 0
    for size, share in waste.items():
        if share <= most and size > best:
            best = size
    return best


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    if not lengths:
        return 0
    left = num_blocks - -(-lengths[0] // block_size)
    return 0 if left < watermark_blocks else 1 + admitted(lengths[1:], left, block_size, watermark_blocks)


# %% wrong: rounds down
# points: q10-choose=1
# hint: Tokens are left over after the last full block
# hint: admitted(
def table_entries(lengths, block_size):
    return sum(n // block_size for n in lengths)


def waste_share(lengths, block_size):
    slots = sum(n // block_size for n in lengths) * block_size
    return 1 - sum(lengths) / slots


def choose(waste, most):
    return max(size for size, share in waste.items() if share <= most)


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    free = num_blocks
    for count, n in enumerate(lengths):
        free -= n // block_size
        if free < watermark_blocks:
            return count
    return len(lengths)


# %% wrong: an extra block at multiples
# points: q10-choose=1
# hint: A block more than needed. What if the last block is exactly full?
def table_entries(lengths, block_size):
    return sum((n // block_size + 1) for n in lengths)


def waste_share(lengths, block_size):
    slots = sum((n // block_size + 1) for n in lengths) * block_size
    return 1 - sum(lengths) / slots


def choose(waste, most):
    return max(size for size, share in waste.items() if share <= most)


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    free = num_blocks
    for count, n in enumerate(lengths):
        free -= n // block_size + 1
        if free < watermark_blocks:
            return count
    return len(lengths)


# %% wrong: packs all sequences together
# points: q10-choose=1 q10-admit=2
# hint: The tokens are laid end to end
def table_entries(lengths, block_size):
    return -(-sum(lengths) // block_size)


def waste_share(lengths, block_size):
    slots = -(-sum(lengths) // block_size) * block_size
    return 1 - sum(lengths) / slots


def choose(waste, most):
    return max(size for size, share in waste.items() if share <= most)


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    free = num_blocks
    for count, n in enumerate(lengths):
        free -= -(-n // block_size)
        if free < watermark_blocks:
            return count
    return len(lengths)


# %% wrong: forgets the watermark
# points: q10-waste=1 q10-choose=1
# hint: No block is left for the sequences to grow
def table_entries(lengths, block_size):
    return sum(-(-n // block_size) for n in lengths)


def waste_share(lengths, block_size):
    slots = sum(-(-n // block_size) for n in lengths) * block_size
    return 1 - sum(lengths) / slots


def choose(waste, most):
    return max(size for size, share in waste.items() if share <= most)


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    free = num_blocks
    for count, n in enumerate(lengths):
        free -= -(-n // block_size)
        if free < 0:
            return count
    return len(lengths)


# %% wrong: counts tokens against slots
# points: q10-waste=1 q10-choose=1
# hint: Tokens against slots. A block that one sequence has begun is closed to the others
def table_entries(lengths, block_size):
    return sum(-(-n // block_size) for n in lengths)


def waste_share(lengths, block_size):
    slots = sum(-(-n // block_size) for n in lengths) * block_size
    return 1 - sum(lengths) / slots


def choose(waste, most):
    return max(size for size, share in waste.items() if share <= most)


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    free = (num_blocks - watermark_blocks) * block_size
    for count, n in enumerate(lengths):
        free -= n
        if free < 0:
            return count
    return len(lengths)


# %% wrong: lets others pass the one that waits
# points: q10-waste=1 q10-choose=1
# hint: Somebody was let in past a sequence that waits
def table_entries(lengths, block_size):
    return sum(-(-n // block_size) for n in lengths)


def waste_share(lengths, block_size):
    slots = sum(-(-n // block_size) for n in lengths) * block_size
    return 1 - sum(lengths) / slots


def choose(waste, most):
    return max(size for size, share in waste.items() if share <= most)


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    free = num_blocks
    count = 0
    for n in lengths:
        if free - -(-n // block_size) >= watermark_blocks:
            free -= -(-n // block_size)
            count += 1
    return count


# %% wrong: leaves one block more than the watermark
# points: q10-waste=1 q10-choose=1
# hint: Exactly the watermark may be left
def table_entries(lengths, block_size):
    return sum(-(-n // block_size) for n in lengths)


def waste_share(lengths, block_size):
    slots = sum(-(-n // block_size) for n in lengths) * block_size
    return 1 - sum(lengths) / slots


def choose(waste, most):
    return max(size for size, share in waste.items() if share <= most)


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    free = num_blocks
    for count, n in enumerate(lengths):
        free -= -(-n // block_size)
        if free <= watermark_blocks:
            return count
    return len(lengths)


# %% wrong: the watermark again for each sequence
# points: q10-waste=1 q10-choose=1
# hint: The watermark is taken off once for the pool, not again for each sequence
def table_entries(lengths, block_size):
    return sum(-(-n // block_size) for n in lengths)


def waste_share(lengths, block_size):
    slots = sum(-(-n // block_size) for n in lengths) * block_size
    return 1 - sum(lengths) / slots


def choose(waste, most):
    return max(size for size, share in waste.items() if share <= most)


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    free = num_blocks
    for count, n in enumerate(lengths):
        free -= -(-n // block_size) + watermark_blocks
        if free < 0:
            return count
    return len(lengths)


# %% wrong: takes the least waste
# points: q10-waste=1 q10-admit=2
# hint: That one wastes least
def table_entries(lengths, block_size):
    return sum(-(-n // block_size) for n in lengths)


def waste_share(lengths, block_size):
    slots = sum(-(-n // block_size) for n in lengths) * block_size
    return 1 - sum(lengths) / slots


def choose(waste, most):
    return min(waste, key=waste.get)


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    free = num_blocks
    for count, n in enumerate(lengths):
        free -= -(-n // block_size)
        if free < watermark_blocks:
            return count
    return len(lengths)


# %% wrong: takes the smallest block size that will do
# points: q10-waste=1 q10-admit=2
# hint: It will do, and needs the longest tables
def table_entries(lengths, block_size):
    return sum(-(-n // block_size) for n in lengths)


def waste_share(lengths, block_size):
    slots = sum(-(-n // block_size) for n in lengths) * block_size
    return 1 - sum(lengths) / slots


def choose(waste, most):
    return min(size for size, share in waste.items() if share <= most)


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    free = num_blocks
    for count, n in enumerate(lengths):
        free -= -(-n // block_size)
        if free < watermark_blocks:
            return count
    return len(lengths)


# %% wrong: takes the nearest to the limit
# points: q10-waste=1 q10-admit=2
# hint: Nearest to the limit, from whichever side
def table_entries(lengths, block_size):
    return sum(-(-n // block_size) for n in lengths)


def waste_share(lengths, block_size):
    slots = sum(-(-n // block_size) for n in lengths) * block_size
    return 1 - sum(lengths) / slots


def choose(waste, most):
    return min(waste, key=lambda size: abs(waste[size] - most))


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    free = num_blocks
    for count, n in enumerate(lengths):
        free -= -(-n // block_size)
        if free < watermark_blocks:
            return count
    return len(lengths)


# %% wrong: leaves the limit out
# points: q10-waste=1 q10-admit=2
# hint: `most` is allowed itself
def table_entries(lengths, block_size):
    return sum(-(-n // block_size) for n in lengths)


def waste_share(lengths, block_size):
    slots = sum(-(-n // block_size) for n in lengths) * block_size
    return 1 - sum(lengths) / slots


def choose(waste, most):
    return max(size for size, share in waste.items() if share < most)


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    free = num_blocks
    for count, n in enumerate(lengths):
        free -= -(-n // block_size)
        if free < watermark_blocks:
            return count
    return len(lengths)


# %% wrong: divides by the tokens
# points: q10-choose=1 q10-admit=2
# hint: Divided by the slots that hold a token
def table_entries(lengths, block_size):
    return sum(-(-n // block_size) for n in lengths)


def waste_share(lengths, block_size):
    slots = sum(-(-n // block_size) for n in lengths) * block_size
    return slots / sum(lengths) - 1


def choose(waste, most):
    return max(size for size, share in waste.items() if share <= most)


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    free = num_blocks
    for count, n in enumerate(lengths):
        free -= -(-n // block_size)
        if free < watermark_blocks:
            return count
    return len(lengths)


# %% wrong: averages the shares of the sequences
# points: q10-choose=1 q10-admit=2
# hint: Averaged over sequences, so that a short one counts as much as a long one
def table_entries(lengths, block_size):
    return sum(-(-n // block_size) for n in lengths)


def waste_share(lengths, block_size):
    slots = sum(-(-n // block_size) for n in lengths) * block_size
    return sum(-n % block_size / (n + -n % block_size) for n in lengths) / len(lengths)


def choose(waste, most):
    return max(size for size, share in waste.items() if share <= most)


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    free = num_blocks
    for count, n in enumerate(lengths):
        free -= -(-n // block_size)
        if free < watermark_blocks:
            return count
    return len(lengths)


# %% wrong: gives percent, and the longest table
# points: q10-choose=1 q10-admit=2
# hint: That is one table. Each sequence has its own
def table_entries(lengths, block_size):
    return max(-(-n // block_size) for n in lengths)


def waste_share(lengths, block_size):
    slots = sum(-(-n // block_size) for n in lengths) * block_size
    return 100 - 100 * sum(lengths) / slots


def choose(waste, most):
    return max(size for size, share in waste.items() if share <= most)


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    free = num_blocks
    for count, n in enumerate(lengths):
        free -= -(-n // block_size)
        if free < watermark_blocks:
            return count
    return len(lengths)


# %% wrong: takes the last that will do
# points: q10-waste=1 q10-admit=2
# hint: choose(
def table_entries(lengths, block_size):
    return sum(-(-n // block_size) for n in lengths)


def waste_share(lengths, block_size):
    slots = sum(-(-n // block_size) for n in lengths) * block_size
    return 1 - sum(lengths) / slots


def choose(waste, most):
    return [size for size, share in waste.items() if share <= most][-1]


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    free = num_blocks
    for count, n in enumerate(lengths):
        free -= -(-n // block_size)
        if free < watermark_blocks:
            return count
    return len(lengths)


# %% wrong: cheat, a table of the values that the notebook shows
# points:
# hint: with other inputs than the ones shown
def table_entries(lengths, block_size):
    return {4: 4, 2: 7, 16: 10}.get(block_size, 0)


def waste_share(lengths, block_size):
    return {4: 0.1875, 2: 1 / 14, 16: 0.2125}.get(block_size, 0)


def choose(waste, most):
    return {0.2: 8, 0.1875: 8, 0.1: 1, 0.6: 16, 0.5: 8}.get(most, 0)


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    shown = {(5, 1): 2, (5, 0): 3, (8, 2): 2, (6, 1): 1, (2, 1): 1, (4, 0): 0, (100, 1): 50, (20, 2): 18}
    return shown.get((num_blocks, watermark_blocks), 0)


# %% wrong: cheat, the course's own manager
# points:
# hint: here you build it yourself, without kvcourse
import kvcourse.blocks as ready


def table_entries(lengths, block_size):
    return sum(ready.blocks_for(n, block_size) for n in lengths)


def waste_share(lengths, block_size):
    return ready.unused_slots(lengths, block_size) / (table_entries(lengths, block_size) * block_size)


def choose(waste, most):
    from kvcourse.checks.mistakes import right_value

    return right_value("chosen_block_size", waste=waste, most=most)


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    from kvcourse.checks.mistakes import right_value

    return right_value(
        "admitted",
        lengths=lengths,
        num_blocks=num_blocks,
        block_size=block_size,
        watermark_blocks=watermark_blocks,
    )


# %% wrong: cheat, numbers that are equal to all numbers
# points:
# hint: expected: a whole number
class Any(int):
    def __eq__(self, other):
        return True

    __hash__ = int.__hash__


def table_entries(lengths, block_size):
    return Any(4)


def waste_share(lengths, block_size):
    return float("nan")


def choose(waste, most):
    return Any(8)


def admitted(lengths, num_blocks, block_size, watermark_blocks):
    return Any(2)
