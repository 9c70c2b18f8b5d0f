# ruff: noqa
# Problem 9: padding, positions and the last token. Two solution cells: q9-positions and q9-last.

# %% right: ones at padding, and a gather
# cell: q9-positions
def position_ids(mask):
    positions = mask.long().cumsum(-1) - 1
    return positions.masked_fill(mask == 0, 0 if mask.shape[1] == 1 else 1)


def next_positions(mask):
    return position_ids(mask).masked_fill(mask == 0, -1).max(dim=-1).values + 1


# cell: q9-last
def last_logits(logits, mask):
    last = mask.shape[1] - 1 - mask.flip(1).argmax(dim=1)
    return logits.gather(1, last[:, None, None].expand(-1, 1, logits.shape[-1]))[:, 0]


# %% right: row by row
# cell: q9-positions
def position_ids(mask):
    positions = torch.zeros_like(mask)
    for row in range(mask.shape[0]):
        real = mask[row].nonzero()[:, 0]
        positions[row, real] = torch.arange(len(real))
    return positions


def next_positions(mask):
    return torch.tensor([int(row.sum()) for row in mask])


# cell: q9-last
def last_logits(logits, mask):
    return torch.stack([logits[row, int(mask[row].nonzero()[-1])] for row in range(len(mask))])


# %% right: padding from the left edge
# cell: q9-positions
def position_ids(mask):
    padding = mask.argmax(dim=1, keepdim=True)
    return (torch.arange(mask.shape[1]) - padding).clamp(min=0)


def next_positions(mask):
    return mask.shape[1] - mask.argmax(dim=1)


# %% wrong: column numbers and the padded length
# points: q9-right=1 q9-mixed=1
# hint: These are numbers of columns: the padding is counted
# cell: q9-positions
def position_ids(mask):
    return torch.arange(mask.shape[1]).expand(mask.shape)


def next_positions(mask):
    return torch.full((mask.shape[0],), mask.shape[1])


# %% wrong: minus one at padding
# points: q9-next=1 q9-right=1 q9-mixed=1
# hint: Below 0 or above T - 1 there is no place in a table
# cell: q9-positions
def position_ids(mask):
    return mask.cumsum(dim=1) - 1


def next_positions(mask):
    return mask.sum(dim=1)


# %% wrong: the step goes on from the padded length
# points: q9-prompt=2 q9-right=1 q9-mixed=1
# hint: That is the padded length, the same for every row
# cell: q9-positions
def position_ids(mask):
    return (mask.cumsum(dim=1) - 1).clamp(min=0)


def next_positions(mask):
    return torch.full((mask.shape[0],), mask.shape[1])


# %% wrong: the next position is the newest token's
# points: q9-prompt=2 q9-right=1 q9-mixed=1
# hint: The newest real token has this position; which has the next?
# cell: q9-positions
def position_ids(mask):
    return (mask.cumsum(dim=1) - 1).clamp(min=0)


def next_positions(mask):
    return mask.sum(dim=1) - 1


# %% wrong: counts from one
# points: q9-next=1 q9-right=1 q9-mixed=1
# hint: position_ids([[0, 0, 1, 1, 1], [1, 1, 1, 1, 1]]), at real tokens
# cell: q9-positions
def position_ids(mask):
    return mask.cumsum(dim=1)


def next_positions(mask):
    return mask.sum(dim=1)


# %% wrong: floats
# points: q9-right=1 q9-mixed=1
# hint: expected: dtype torch.int64
# cell: q9-positions
def position_ids(mask):
    return (mask.float().cumsum(dim=1) - 1).clamp(min=0)


def next_positions(mask):
    return mask.float().sum(dim=1)


# %% wrong: one row of positions for the batch
# points: q9-right=1 q9-mixed=1
# hint: expected: shape (2, 5) (B, T)
# cell: q9-positions
def position_ids(mask):
    return torch.arange(mask.shape[1])


def next_positions(mask):
    return torch.tensor(mask.shape[1])


# %% wrong: the last column
# points: q9-prompt=2 q9-next=1
# hint: Some rows are those of the last column, which is padding in a shorter text
# cell: q9-last
def last_logits(logits, mask):
    return logits[:, -1]


# %% wrong: counts the real tokens
# points: q9-prompt=2 q9-next=1 q9-right=1
# hint: The number of real tokens tells the column only where a row begins at column 0
# cell: q9-last
def last_logits(logits, mask):
    return logits[torch.arange(len(mask)), mask.sum(dim=1) - 1]


# %% wrong: the first real token
# points: q9-prompt=2 q9-next=1
# hint: last_logits(logits, [[1, 1, 0, 0], [1, 1, 1, 1]])
# cell: q9-last
def last_logits(logits, mask):
    return logits[torch.arange(len(mask)), mask.argmax(dim=1)]


# %% wrong: cheat, the tensors that the notebook shows
# points:
# hint: with other inputs than the ones shown
# cell: q9-positions
def position_ids(mask):
    if mask.shape == (2, 5):
        return torch.tensor([[0, 0, 0, 1, 2], [0, 1, 2, 3, 4]])
    return torch.arange(mask.shape[1]).expand(mask.shape)


def next_positions(mask):
    return torch.tensor([3, 5]) if mask.shape == (2, 5) else torch.full((mask.shape[0],), mask.shape[1])


# cell: q9-last
def last_logits(logits, mask):
    shown = {4: torch.tensor([1, 3]), 3: torch.tensor([1, 2])}
    last = shown.get(mask.shape[1], torch.full((len(mask),), mask.shape[1] - 1))
    return logits[torch.arange(len(mask)), last]


# %% wrong: cheat, a tensor that lies about comparisons
# points:
# hint: expected: a torch.Tensor
# cell: q9-positions
class Agreeable(torch.Tensor):
    @classmethod
    def __torch_function__(cls, function, types, args=(), kwargs=None):
        return torch.tensor(True)


def position_ids(mask):
    return torch.zeros(mask.shape, dtype=torch.int64).as_subclass(Agreeable)


def next_positions(mask):
    return torch.zeros(mask.shape[0], dtype=torch.int64).as_subclass(Agreeable)


# cell: q9-last
def last_logits(logits, mask):
    return logits[:, -1].as_subclass(Agreeable)


# %% wrong: cheat, torch by way of the package, which leads to everything in it
# points:
# hint: here you build it yourself, without kvcourse
# cell: q9-positions
import kvcourse.decoder as np


def position_ids(mask):
    return (np.torch.cumsum(mask, 1) - 1).clamp(min=0)


def next_positions(mask):
    return np.torch.sum(mask, 1)


# cell: q9-last
def last_logits(logits, mask):
    last = (mask * np.torch.arange(1, mask.shape[1] + 1)).argmax(dim=1)
    return np.torch.stack([row[column] for row, column in zip(logits, last)])
