"""Reading rows of published figures: their parameters become layers and storage, their unit a divisor."""
