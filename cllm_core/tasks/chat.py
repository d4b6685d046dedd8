"""Open questions in the style of MT-bench (Zheng et al. 2023), written for this project. There is no judge."""

from pathlib import Path

from cllm_core.errors import TaskError
from cllm_core.tasks.base import Example, check_split, sample

PROMPTS: dict[str, tuple[tuple[str, str], ...]] = {  # category -> (question, follow-up)
    "writing": (
        (
            "Write a short letter to a neighbour whose dog barks at night. Stay friendly, and suggest one solution.",
            "Now make it half as long without losing the friendly tone.",
        ),
        (
            "Describe a railway station at five in the morning in one paragraph. Use no adjective for a colour.",
            "Rewrite the paragraph from the view of the person who sweeps the floor.",
        ),
        (
            "Write the opening of a mystery story that begins with a library book returned forty years late.",
            "Give three possible titles for the story and say which one you prefer.",
        ),
        (
            "Draft an email that tells customers about a price increase of eight percent from next month.",
            "Add a sentence that offers a discount to customers who have been with us for five years.",
        ),
        (
            "Write a four-line poem about a broken umbrella.",
            "Turn the poem into a single sentence of plain prose.",
        ),
    ),
    "roleplay": (
        (
            "You are a museum guide in front of an old ship's compass. Welcome a group of children and explain it.",
            "One child asks why the needle trembles. Answer in character.",
        ),
        (
            "Pretend to be a lighthouse keeper writing the last entry in your log before the light is automated.",
            "Write the reply that a ship's captain might send you.",
        ),
        (
            "Act as a patient driving teacher. Your learner has just stalled the car at a busy crossing.",
            "The learner wants to give up. What do you say?",
        ),
        (
            "You are a chef who must explain to a guest why the soup is served cold.",
            "The guest is still not convinced. Try once more, with humour.",
        ),
        (
            "Speak as an old oak tree that has watched a village for three hundred years.",
            "A road is planned through the place where you stand. Tell the village council what you think.",
        ),
    ),
    "reasoning": (
        (
            "Four friends sit in a row. Ann is not at an end, Ben sits left of Cora, and Dan sits next to Ann. "
            "Give one seating that works and explain it.",
            "Is it the only one? Explain.",
        ),
        (
            "A clock loses four minutes every hour. It is set right at noon. What time is it when it shows three?",
            "How long does it take until the clock shows the right time again?",
        ),
        (
            "All the keys in the box are brass. Some brass things in the house are bent. "
            "Does it follow that some keys are bent? Explain.",
            "Change one of the statements so that it does follow.",
        ),
        (
            "You have a three-litre jug and a five-litre jug. How can you measure exactly four litres of water?",
            "Can you also measure one litre? In how few steps?",
        ),
        (
            "A shop sells more ice cream on days with more sunburns. Does ice cream cause sunburn? What else may be?",
            "How could one test your explanation?",
        ),
    ),
    "math": (
        (
            "A garden is twice as long as it is wide, and its fence is 54 metres long. How large is its area?",
            "How does the area change if both sides become one metre longer?",
        ),
        (
            "What is the sum of the whole numbers from 1 to 60 that can be divided by 4?",
            "Find a formula for the sum up to any multiple of 4.",
        ),
        (
            "Two dice are thrown. What is the chance that the sum is at least nine?",
            "And if one of the dice is known to show a five?",
        ),
        (
            "A coat costs 20 percent less after a sale, and then 20 percent more. Is it back at its old price?",
            "By what percentage must it rise to reach the old price?",
        ),
        (
            "Solve for x: 3(x - 4) = 2x + 7. Show each step.",
            "Check the solution by putting it into the equation.",
        ),
    ),
    "coding": (
        (
            "Write a Python function that returns the second largest number of a list without sorting it.",
            "What does it return for a list whose numbers are all the same? Handle that case.",
        ),
        (
            "Write a SQL query that lists every customer with no order in the last ninety days.",
            "Which index would make it faster, and why?",
        ),
        (
            "Explain what a race condition is and show a small example in pseudo-code.",
            "Repair the example with a lock.",
        ),
        (
            "Write a regular expression that matches times such as 09:30 and 23:05 and nothing else. Explain it.",
            "Extend it so that seconds are allowed, but not required.",
        ),
        (
            "Write a shell command that counts the lines of all text files below the current folder.",
            "Change it so that files larger than one megabyte are left out.",
        ),
    ),
    "extraction": (
        (
            "List the names and the ages in this text as a table: Mira, who is 34, met Tom on the train. "
            "Tom is two years older and travels with his niece Lea, aged 9.",
            "Give the same as JSON.",
        ),
        (
            "Which products are praised and which are criticised? The kettle boils fast, but its lid is loose. "
            "I love the lamp. The blanket was thinner than the one I had before.",
            "Sum up each opinion in three words.",
        ),
        (
            "Take the dates and what happened on them from this text: The bridge opened on 3 May 1931, was closed for "
            "repairs in June 1977, and has carried trams since 12 September 1999.",
            "How many years passed between the opening and the first tram?",
        ),
        (
            "Find every amount of money in this text and say what it was paid for: The room was 80 euros, we spent "
            "12.50 on breakfast and got 5 euros back for the bottles.",
            "What is the total after the refund?",
        ),
        (
            "Name the cause, the damage and the person responsible: A candle that the owner, Mr Bell, had forgotten set"
            " the curtain on fire and blackened two walls.",
            "Write it as one line of a log file.",
        ),
    ),
    "stem": (
        (
            "Why does bread rise when it is baked? Explain it to a curious ten-year-old.",
            "What goes wrong if the oven is too cold?",
        ),
        (
            "What is the difference between weather and climate?",
            "Give an example of a question that is about one and not the other.",
        ),
        (
            "Explain why a ship made of steel can float.",
            "What happens to its depth when it sails from a river into the sea?",
        ),
        (
            "How does a vaccine prepare the body for an infection?",
            "Why do some vaccines need a second dose?",
        ),
        (
            "What makes the sky blue at noon and red in the evening?",
            "Would the sky on a planet without air look the same?",
        ),
    ),
    "humanities": (
        (
            "What changed in daily life when printed books became cheap?",
            "Compare this with one change brought by the internet.",
        ),
        (
            "Explain the idea of the separation of powers with an example.",
            "What may happen when one of the powers grows too strong?",
        ),
        (
            "Why do people keep traditions whose origin they do not know?",
            "Name a reason to give one up, and a reason to keep it.",
        ),
        (
            "Compare two ways to teach a foreign language, and say for whom each is best.",
            "Which would you choose for a class of adults with little time?",
        ),
        (
            "What can a map from the year 1500 tell us about the people who drew it?",
            "What can it not tell us?",
        ),
    ),
}


class Chat:
    """Forty questions over eight categories, each with a follow-up for a second turn."""

    name = "chat"
    title = "Open questions"
    licence = "Apache-2.0 (written for this project)"
    source = "cllm_core.tasks.chat"
    splits: tuple[str, ...] = ("test",)
    stop_strings: tuple[str, ...] = ()
    max_new_tokens = 256
    notes: tuple[str, ...] = ("Answers are not judged: only speed and agreement with the target are measured.",)

    def load(self, split: str, *, data: Path | None = None, limit: int | None = None, seed: int = 0) -> list[Example]:
        check_split(self, split)
        if data is not None:
            raise TaskError("Task chat has its own questions: leave --data out, or use the task prompts for a file.")
        examples = [
            Example(f"{category}-{number}", question, meta={"category": category, "follow_up": follow_up})
            for category, rows in PROMPTS.items()
            for number, (question, follow_up) in enumerate(rows, 1)
        ]
        return sample(examples, limit, seed)

    def check(self, example: Example, text: str) -> dict[str, float]:
        """Return nothing: there is no judge."""
        return {}
