"""Whether an error means that memory ran out: the libraries raise three kinds of error for it. Loads nothing."""

_SIGNS = ("out of memory", "can't allocate memory", "cannot allocate memory", "not enough memory")


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether a program, or a device, ran out of memory."""
    text = str(error).lower()
    return isinstance(error, MemoryError) or any(sign in text for sign in _SIGNS)
