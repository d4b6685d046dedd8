"""The words of docs/definitions.md for someone who sees the app for the first time."""

TAGLINE = (
    "Watch a language model decode a prompt one token at a time and many at once, side by side: every pass, "
    "every guess, measured on this machine."
)

ABOUT = """
**What runs.** A language model usually gives one token per *forward pass* (one call of the model). *Jacobi decoding*
guesses a whole *block* of n tokens, lets the model correct all of them in one pass, keeps what is certain, and repeats.
The output is the same as the same model's one token at a time; only the number of passes changes. A *Consistency LLM*
(CLLM) is a model trained from the base so that its guesses become right in fewer passes. It is another model: its
answer may differ from the base's.

**The grid.** Each row is a pass, each column a position in the answer. The staircase is the *fixed frontier*: how many
leading tokens the decoder knows to be final. Every pass fixes at least one. *Known now* shows what the decoder knew at
that moment; *hindsight* compares each guess with the final output:

- ✓ *settled*: inside the part that is already right, or the one token per pass that one at a time would get too.
- » *fast-forwarded*: right sooner than one token a pass would allow.
- ◆ *stationary*: right before everything to its left is, and it stays right.
- ~ *transient*: right now, but wrong again in a later pass.
- × *wrong*: not the final token.

**The table.** *Tokens / pass* counts the first pass (the *prefill*) too. *Speedup* is the measured time of the base
model decoding one token at a time, divided by the lane's: a pass over a block costs more than a pass over one token, so
fewer passes can still be slower. *Fast-forward / pass* is how many tokens became right per pass, the guaranteed one
included; *stationary / block* counts each position once. *Same ids* says *yes* only where both runs were made and
compared; the *margin* tells how close the two best candidates were where they differ.

**Settings.** *Window*: with *block*, a new block starts when the old one is fixed (the paper's decoder); with
*sliding*, the window is refilled after every pass, so it never shrinks. *Draft init* is the first guess for new
positions.
"""
