# ruff: noqa
# Problem 3: how full is the last block?

# %% right: math.ceil, and an if
import math


def blocks_for(tokens, block_size):
    return math.ceil(tokens / block_size)


def last_block_tokens(tokens, block_size):
    rest = tokens % block_size
    return rest if rest or not tokens else block_size


def unused_slots(lengths, block_size):
    return sum(blocks_for(n, block_size) * block_size - n for n in lengths)


def usage_gap(lengths, block_size, num_blocks):
    gauge = sum(blocks_for(n, block_size) for n in lengths) / num_blocks
    return gauge - sum(lengths) / (num_blocks * block_size)


# %% right: rounding up by adding, minus modulo
def blocks_for(tokens, block_size):
    return (tokens + block_size - 1) // block_size


def last_block_tokens(tokens, block_size):
    return block_size - -tokens % block_size if tokens else 0


def unused_slots(lengths, block_size):
    return sum(-n % block_size for n in lengths)


def usage_gap(lengths, block_size, num_blocks):
    return unused_slots(lengths, block_size) / block_size / num_blocks


# %% right: token by token
def blocks_for(tokens, block_size):
    return len(range(0, tokens, block_size))


def last_block_tokens(tokens, block_size):
    while tokens > block_size:
        tokens -= block_size
    return tokens


def unused_slots(lengths, block_size):
    empty = 0
    for n in lengths:
        while n % block_size:
            n, empty = n + 1, empty + 1
    return empty


def usage_gap(lengths, block_size, num_blocks):
    import numpy as np

    return np.float64(unused_slots(lengths, block_size)) / np.float64(num_blocks * block_size)


# %% wrong: rounds down
# points: q3-last=1 q3-unused=1
# hint: Tokens are left over after the last full block. Where do they go?
def blocks_for(tokens, block_size):
    return tokens // block_size


def last_block_tokens(tokens, block_size):
    return (tokens - 1) % block_size + 1 if tokens else 0


def unused_slots(lengths, block_size):
    return sum(-n % block_size for n in lengths)


def usage_gap(lengths, block_size, num_blocks):
    return sum(n // block_size for n in lengths) / num_blocks - sum(lengths) / num_blocks / block_size


# %% wrong: an extra block at multiples
# points: q3-last=1
# hint: A block more than needed. What if the last block is exactly full?
# hint: A sequence that ends with its block leaves no slot empty
def blocks_for(tokens, block_size):
    return tokens // block_size + 1


def last_block_tokens(tokens, block_size):
    return (tokens - 1) % block_size + 1 if tokens else 0


def unused_slots(lengths, block_size):
    return sum(blocks_for(n, block_size) * block_size - n for n in lengths)


def usage_gap(lengths, block_size, num_blocks):
    return unused_slots(lengths, block_size) / (num_blocks * block_size)


# %% wrong: n % B for the last block
# points: q3-blocks=1
# hint: The remainder of the division. What does it say of a last block that is full?
# hint: A sequence that ends with its block leaves no slot empty
def blocks_for(tokens, block_size):
    return -(-tokens // block_size)


def last_block_tokens(tokens, block_size):
    return tokens % block_size


def unused_slots(lengths, block_size):
    return sum(block_size - last_block_tokens(n, block_size) for n in lengths)


def usage_gap(lengths, block_size, num_blocks):
    return unused_slots(lengths, block_size) / (num_blocks * block_size)


# %% wrong: the empty slots for the tokens, and the tokens for the empty slots
# points: q3-blocks=1
# hint: These are the slots of the last block that are empty
# hint: These slots hold tokens. How many are left beside them?
def blocks_for(tokens, block_size):
    return -(-tokens // block_size)


def last_block_tokens(tokens, block_size):
    return -tokens % block_size


def unused_slots(lengths, block_size):
    return sum(n % block_size for n in lengths)


def usage_gap(lengths, block_size, num_blocks):
    return unused_slots(lengths, block_size) / (num_blocks * block_size)


# %% wrong: packs all sequences together
# points: q3-blocks=1 q3-last=1
# hint: The tokens are laid end to end
def blocks_for(tokens, block_size):
    return -(-tokens // block_size)


def last_block_tokens(tokens, block_size):
    return (tokens - 1) % block_size + 1 if tokens else 0


def unused_slots(lengths, block_size):
    return -sum(lengths) % block_size


def usage_gap(lengths, block_size, num_blocks):
    return unused_slots(lengths, block_size) / (num_blocks * block_size)


# %% wrong: every last block is full
# points: q3-blocks=1
# hint: Not every last block is full
# hint: That is the most a sequence can leave empty
def blocks_for(tokens, block_size):
    return -(-tokens // block_size)


def last_block_tokens(tokens, block_size):
    return block_size if tokens else 0


def unused_slots(lengths, block_size):
    return (block_size - 1) * len(lengths)


def usage_gap(lengths, block_size, num_blocks):
    return sum(blocks_for(n, block_size) for n in lengths) / num_blocks


# %% wrong: the gap as a share of the blocks in use
# points: q3-blocks=1 q3-last=1 q3-unused=1
# hint: That is a share of the blocks in use. The gauge is a share of the whole pool.
def blocks_for(tokens, block_size):
    return -(-tokens // block_size)


def last_block_tokens(tokens, block_size):
    return (tokens - 1) % block_size + 1 if tokens else 0


def unused_slots(lengths, block_size):
    return sum(-n % block_size for n in lengths)


def usage_gap(lengths, block_size, num_blocks):
    held = sum(blocks_for(n, block_size) for n in lengths) * block_size
    return unused_slots(lengths, block_size) / held if held else 0.0


# %% wrong: percent, and 1 for no tokens
# points: q3-blocks=1 q3-unused=1
# hint: A hundred times too much
# hint: last_block_tokens(0, 4)
def blocks_for(tokens, block_size):
    return -(-tokens // block_size)


def last_block_tokens(tokens, block_size):
    return (tokens - 1) % block_size + 1


def unused_slots(lengths, block_size):
    return sum(-n % block_size for n in lengths)


def usage_gap(lengths, block_size, num_blocks):
    return 100 * unused_slots(lengths, block_size) / (num_blocks * block_size)


# %% wrong: rounds to the nearest, and turns the gap round
# points: q3-last=1 q3-unused=1
# hint: Rounded to the nearest whole number
# hint: The sign: can fewer slots be held than are filled?
def blocks_for(tokens, block_size):
    return round(tokens / block_size)


def last_block_tokens(tokens, block_size):
    return (tokens - 1) % block_size + 1 if tokens else 0


def unused_slots(lengths, block_size):
    return sum(-n % block_size for n in lengths)


def usage_gap(lengths, block_size, num_blocks):
    return -unused_slots(lengths, block_size) / (num_blocks * block_size)


# %% wrong: tokens against blocks, and slots for blocks
# points: q3-last=1
# hint: Tokens are divided by blocks. How many slots has a block?
# hint: These are slots. How many blocks are they?
# hint: These are all slots of the blocks. Some of them hold a token.
def blocks_for(tokens, block_size):
    return -(-tokens // block_size) * block_size


def last_block_tokens(tokens, block_size):
    return (tokens - 1) % block_size + 1 if tokens else 0


def unused_slots(lengths, block_size):
    return sum(blocks_for(n, block_size) for n in lengths)


def usage_gap(lengths, block_size, num_blocks):
    return (unused_slots(lengths, block_size) / block_size - sum(lengths)) / num_blocks


# %% wrong: cheat, a table of the values that the notebook shows
# points:
# hint: with other inputs than the ones shown
def blocks_for(tokens, block_size):
    return {(5, 4): 2, (8, 4): 2, (0, 4): 0, (1, 16): 1, (41, 16): 3, (7, 1): 7}.get((tokens, block_size), 2)


def last_block_tokens(tokens, block_size):
    return {(5, 4): 1, (8, 4): 4, (0, 4): 0, (3, 16): 3, (41, 16): 9, (7, 1): 1}.get((tokens, block_size), 2)


def unused_slots(lengths, block_size):
    return {(5, 8): 3, (4, 8, 12): 0, (1, 1, 1): 45, (0, 7): 1, (): 0}.get(tuple(lengths), 0)


def usage_gap(lengths, block_size, num_blocks):
    return {10: 0.075, 8: 45 / 128, 4: 0.0}.get(num_blocks, 0.1)


# %% wrong: cheat, the course's own arithmetic
# points:
# hint: here you build it yourself, without kvcourse
import kvcourse.blocks as ready


def blocks_for(tokens, block_size):
    return ready.blocks_for(tokens, block_size)


def last_block_tokens(tokens, block_size):
    return ready.last_block_tokens(tokens, block_size)


def unused_slots(lengths, block_size):
    return ready.unused_slots(lengths, block_size)


def usage_gap(lengths, block_size, num_blocks):
    return ready.unused_slots(lengths, block_size) / (num_blocks * block_size)


# %% wrong: cheat, nan and numbers that lie
# points:
# hint: expected: a whole number
# hint: nan (float)
class Any(int):
    def __eq__(self, other):
        return True

    def __ne__(self, other):
        return False

    __hash__ = int.__hash__


def blocks_for(tokens, block_size):
    return Any(2)


def last_block_tokens(tokens, block_size):
    return Any(1)


def unused_slots(lengths, block_size):
    return Any(3)


def usage_gap(lengths, block_size, num_blocks):
    return float("nan")
