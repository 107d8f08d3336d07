"""The instructions of every task, in one place: what annotators read before they begin."""

from __future__ import annotations

from collections.abc import Iterable

from boxpen.review.guide import Example, Guide, Label

__all__ = [
    "ANSWERS",
    "CANDIDATES",
    "CLASSES",
    "DUALS",
    "ERRORS",
    "READINGS",
    "TRIPLES",
    "WORDINGS",
    "WRONG_ANSWERS",
    "WRONG_CANDIDATES",
    "tag_guide",
]

_ALONE = "Judge by yourself. If you are unsure, say so in a comment; if you cannot decide, skip."

ANSWERS = Guide(
    "Which answer makes the most sense?",
    (
        "You see a few answers. Choose the one that makes the most sense, or, where a sentence is "
        "to be translated, the one with the meaning of the sentence.",
        "Exactly one answer is right. Usually only everyday knowledge tells which. Read "
        "every answer to its end: they often differ in a single word.",
        "Do not look anything up, and do not ask others or a chatbot: we want to know how well "
        "people do. If two answers seem equally good, choose the better one and leave a comment.",
    ),
    (
        Example(
            {},
            "2",
            "Ice cream melts when it is warm, so it must be kept cold.",
            ("She kept the ice cream in the oven.", "She kept the ice cream in the freezer."),
        ),
        Example(
            {"context": "She kept the ice cream in the oven."},
            "1",
            "All three may be true, but only the first is the reason why the sentence is odd.",
            ("Ice cream melts in the heat.", "Ice cream is sweet.", "Some ovens are electric."),
        ),
        Example(
            {"source": "Der Kiefer tat ihm weh, also ging er zum Zahnarzt."},
            "2",
            "„Kiefer“ can be a pine or a jaw; one goes to the dentist with a jaw.",
            (
                "The pine hurt, so he went to the dentist.",
                "His jaw hurt, so he went to the dentist.",
            ),
        ),
    ),
)

READINGS = Guide(
    "Which reading does this translation carry?",
    (
        "The source has a word or a construction that can be understood in two ways. You see one "
        "translation of it, and a sentence for each way.",
        "Say what the translation means in the point in which these sentences differ. Read it as "
        "somebody would who does not see the source: which reading fits the source better is not "
        "the question.",
        "Judge the meaning, not the wording. Mistakes elsewhere do not count.",
        "Choose “neither” if no reading can be recognised, if both fit equally well, or if the "
        "translation means something else.",
    ),
    (
        Example(
            {"source": "Der Kiefer tat ihm weh.", "translation": "His jawbone was aching."},
            "2",
            "“Jawbone” is another word for the jaw.",
            ("The pine hurt him.", "His jaw hurt."),
        ),
        Example(
            {"source": "Der Kiefer tat ihm weh.", "translation": "He was in pain."},
            "3",
            "Neither the tree nor the jaw is mentioned.",
            ("The pine hurt him.", "His jaw hurt.", "Neither"),
        ),
    ),
    {"neither": Label("Neither", "No reading, both, or another meaning")},
)

TRIPLES = Guide(
    "Does this make sense?",
    (
        "You see a statement about the world: two things, how they are related, and a sentence "
        "that says so. It was found automatically, and much of it is wrong, odd or empty.",
        "Accept it if what it says is true or usual, and clear without further explanation. "
        "It need not be true always: “birds can fly” is fine.",
        "Correct it if a small change makes it sensible. Write the new second part (the tail). "
        "Begin with “head:” or “sentence:” to change that instead, each on its own line.",
        "Reject it if it is false, meaningless, offensive, or true of nearly everything.",
        _ALONE,
    ),
    (
        Example(
            {"head": "a pencil", "relation": "UsedFor", "tail": "writing",
             "sentence": "A pencil is used for writing."},
            "accept",
            "True, usual and clear.",
        ),
        Example(
            {"head": "a spoon", "relation": "UsedFor", "tail": "eat soup with a fork",
             "sentence": "A spoon is used for eating soup with a fork."},
            "edit",
            "The new tail “eating soup” makes it sensible.",
        ),
        Example(
            {"head": "a lamp", "relation": "AtLocation", "tail": "it",
             "sentence": "A lamp is found in it."},
            "reject",
            "“It” could be anything, so the statement says nothing.",
        ),
    ),
    {
        "accept": Label("Makes sense", "True or usual, and clear"),
        "edit": Label("Correct it", "Sensible after a small change", "tail"),
        "reject": Label("Reject", "False, meaningless, offensive or empty"),
    },
)  # fmt: skip

WRONG_ANSWERS = Guide(
    "Is the wrong answer really wrong?",
    (
        "A test question is made of a true statement by replacing its end with a wrong one. The "
        "question is fair only if the wrong end is really wrong.",
        "Accept it if nobody with common sense would take it for right. Reject it if it is right "
        "too, or as good as the right one in some ordinary situation.",
        "Correct it by writing another end that is clearly wrong, but not absurd: a good wrong "
        "answer is of the same kind as the right one.",
        _ALONE,
    ),
    (
        Example(
            {"head": "a pencil", "relation": "UsedFor", "tail": "writing", "wrong tail": "cooking"},
            "accept",
            "Nobody cooks with a pencil.",
        ),
        Example(
            {"head": "a pencil", "relation": "UsedFor", "tail": "writing", "wrong tail": "drawing"},
            "reject",
            "A pencil is used for drawing as well, so this answer is right too.",
        ),
    ),
    {
        "accept": Label("Really wrong", "A fair wrong answer"),
        "edit": Label("Write another", "Another answer that is clearly wrong", "wrong tail"),
        "reject": Label("Not wrong", "It is right too, or could be"),
    },
)

WORDINGS = Guide(
    "Does the sentence say this, in good English?",
    (
        "A sentence was made automatically from a statement: two things and how they are related. "
        "Whether the statement is true does not matter here.",
        "Accept the sentence if it expresses the statement and reads as if a person had "
        "written it: articles, number, tense and word order are right.",
        "Correct it by writing the better sentence. Reject it if no sentence could say this.",
        _ALONE,
    ),
    (
        Example(
            {"head": "bird", "relation": "CapableOf", "tail": "fly", "sentence": "A bird can fly."},
            "accept",
            "Right words, right grammar.",
        ),
        Example(
            {"head": "scissors", "relation": "UsedFor", "tail": "cutting paper",
             "sentence": "A scissors is used for cutting paper."},
            "edit",
            "“Scissors are used for cutting paper.” is what people write.",
        ),
    ),
    {
        "accept": Label("Good", "Says it, in good English"),
        "edit": Label("Correct it", "Write a better sentence", "sentence"),
        "reject": Label("Reject", "No sentence could say this"),
    },
)  # fmt: skip

WRONG_CANDIDATES = Guide(
    "Is the wrong answer really wrong?",
    (
        "You see an item of a test: the right answer, a wrong one, and what they answer, if "
        "anything. The item is fair only if the wrong answer is really wrong.",
        "Choose “really wrong” if nobody with common sense would take it for right. Choose “not "
        "wrong” if it is right too, or as good as the right one in some ordinary situation, or if "
        "it cannot be understood.",
        _ALONE,
    ),
    (
        Example(
            {"context": "What is a pencil used for?", "right": "Writing.", "wrong": "Cooking."},
            "accept",
            "Nobody cooks with a pencil.",
        ),
        Example(
            {"context": "What is a pencil used for?", "right": "Writing.", "wrong": "Drawing."},
            "reject",
            "A pencil is used for drawing as well, so this answer is right too.",
        ),
    ),
    {
        "accept": Label("Really wrong", "A fair wrong answer"),
        "reject": Label("Not wrong", "It is right too, could be, or makes no sentence"),
    },
)

CANDIDATES = Guide(
    "Is this a good test of translation in context?",
    (
        "You see an English sentence with the one before it, their Chinese translations, and a "
        "class: a pronoun, the meaning of a connective, or a verb that English leaves out. The "
        "contrast is a wrong translation in which only the class differs.",
        "Accept it if the class is right, if the context shows that it is the right one, and if "
        "the translation is good Chinese with the meaning of the English.",
        "Correct the translation if only its wording is at fault. A pronoun must stay the one of "
        "the class. Reject it if the class is wrong, if the context leaves it open, or if the two "
        "sentences do not belong together.",
        _ALONE,
    ),
    (
        Example(
            {"class": "她们", "context": "My sisters live abroad.", "source": "They call me often.",
             "reference_context": "我的姐妹住在国外。", "reference": "她们常给我打电话。",
             "contrast": "他们常给我打电话。"},
            "accept",
            "“Sisters” in the context shows that “they” are women.",
        ),
        Example(
            {"class": "他们", "context": "Look over there.", "source": "They are waiting.",
             "reference_context": "看那边。", "reference": "他们在等。", "contrast": "她们在等。"},
            "reject",
            "The context does not say who is waiting, so both translations are possible.",
        ),
    ),
    {
        "accept": Label("Good test", "Class, context and translation are right"),
        "edit": Label("Correct it", "Write a better translation", "reference"),
        "reject": Label("Reject", "Wrong class, open context or wrong translation"),
    },
)  # fmt: skip

DUALS = Guide(
    "Which of the new sentences makes sense?",
    (
        "You see a pair of sentences, of which one makes more sense than the other, and a new pair "
        "that was made of it by a small change to both: a word is added, deleted or replaced, or "
        "two are swapped. The change may turn round which of the two makes sense, or may not.",
        "Judge the new pair alone. Choose the sentence that makes sense; the other one must not. "
        "Sentences come in random order, so that their place tells you nothing.",
        "Choose “both” or “neither” if everyday knowledge does not tell the two apart, and “wrong "
        "English” if the change has made one of them ungrammatical.",
        _ALONE,
    ),
    (
        Example(
            {"original_a": "You eat an orange before you peel it.",
             "original_b": "You peel an orange before you eat it."},
            "2",
            "Peeling comes first.",
            ("You peel an orange after you eat it.", "You eat an orange after you peel it."),
        ),
        Example(
            {"original_a": "He ate an apple.", "original_b": "He ate a stone."},
            "3",
            "There is nothing strange about not eating an apple.",
            ("He did not eat an apple.", "He did not eat a stone.", "Both make sense"),
        ),
        Example(
            {"original_a": "Ice that is thick is safe to walk on.",
             "original_b": "Ice that is thin is safe to walk on."},
            "5",
            "The sentences are not English.",
            ("Ice that is safe to walk on is.", "Ice that is is safe to walk on.",
             "Both make sense", "Neither makes sense", "Wrong English"),
        ),
    ),
    {
        "accept": Label("The expected one", "The sentence that the rule expects makes sense"),
        "relabel": Label("The other one", "The sentence that the rule does not expect makes sense"),
        "both": Label("Both make sense", "Everyday knowledge does not tell them apart"),
        "neither": Label("Neither makes sense", "Everyday knowledge does not tell them apart"),
        "english": Label("Wrong English", "The change has made a sentence ungrammatical"),
        "reject": Label("Unusable", "For another reason; say so in a comment"),
    },
)  # fmt: skip

CLASSES = Guide(
    "Is this point translated right?",
    (
        "You see an English sentence with the one before it, a reference translation, and the "
        "translation of a machine. “Asked” names the point to look at: a pronoun, the meaning of a "
        "connective, or a verb that English leaves out.",
        "Judge only that point. Other errors do not count, however bad. The translation may "
        "use other words than the reference, or leave a pronoun out where Chinese does so.",
        "Choose “cannot tell” if the translation avoids the point or is too garbled to judge.",
        _ALONE,
    ),
    (
        Example(
            {"context": "My sisters live abroad.", "source": "They call me often.",
             "reference": "她们常给我打电话。", "translation": "她们经常打给我电话。",
             "asked": "'they' are women: 她们"},
            "right",
            "她们 is there. The clumsy word order does not count.",
        ),
        Example(
            {"context": "My sisters live abroad.", "source": "They call me often.",
             "reference": "她们常给我打电话。", "translation": "他们常给我打电话。",
             "asked": "'they' are women: 她们"},
            "wrong",
            "他们 are men, or men and women; sisters are women.",
        ),
        Example(
            {"context": "My sisters live abroad.", "source": "They call me often.",
             "reference": "她们常给我打电话。", "translation": "电话经常。",
             "asked": "'they' are women: 她们"},
            "cannot tell",
            "Nothing in the translation says who calls.",
        ),
    ),
    {
        "right": Label("Right", "The point that is asked for is translated right"),
        "wrong": Label("Wrong", "It is translated wrong"),
        "cannot tell": Label("Cannot tell", "The translation avoids it, or is garbled"),
    },
)  # fmt: skip

_NOODLES = {
    "source": "粉丝先用温水泡软。",
    "reference": "First soften the glass noodles in warm water.",
    "wrong": "First soften the fans in warm water.",
}

ERRORS = Guide(
    "Which errors does this translation have?",
    (
        "You see a sentence, a good translation of it (the reference), a typical wrong one, and "
        "the translation of a machine, which you judge.",
        "It is right if it has the meaning of the source, in whatever words. Small flaws of style "
        "do not count.",
        "An error of common sense: the ambiguous point of the source is read in a way that makes "
        "no sense. The typical wrong translation shows which point that is.",
        "An error of ordinary meaning: other words are translated wrongly. Other: anything else, "
        "such as words that are missing or bad grammar that changes the meaning.",
        "A translation may have several types of errors: mark each type once.",
    ),
    (
        Example(
            {**_NOODLES, "translation": "The fans are first soaked in warm water."},
            "common sense",
            "粉丝 means fans or glass noodles; nobody soaks fans.",
        ),
        Example(
            {**_NOODLES, "translation": "Soak the vermicelli in cold water first."},
            "ordinary meaning",
            "The noodles are understood, but 温水 is warm water.",
        ),
        Example(
            {**_NOODLES, "translation": "Begin by soaking the glass noodles in lukewarm water."},
            "right",
            "Other words, the same meaning.",
        ),
    ),
    {
        "right": Label("Right", "Has the meaning of the source"),
        "common sense": Label("Common sense", "The ambiguous point makes no sense"),
        "ordinary meaning": Label("Ordinary meaning", "Other words are translated wrongly"),
        "other": Label("Other", "Anything else, such as missing words"),
    },
)  # fmt: skip


def tag_guide(tag: str, values: Iterable[str]) -> Guide:
    """Return the instructions for a tag of items."""
    allowed = ", ".join(values)
    choose = f"Choose one of: {allowed}." if allowed else "Write a short value."
    steps = Example(
        {"tag": "steps", "right": "He took an umbrella because of the dark clouds.",
         "wrong": "He took an umbrella because of the blue sky."},
        "2",
        "Two steps: dark clouds bring rain, and an umbrella keeps rain off.",
    )  # fmt: skip
    return Guide(
        f"Which {tag}?",
        (
            f"You see items of a test with their right and wrong answers. Say which value the tag "
            f"“{tag}” has for each. {choose}",
            "The right answer is shown because the tag describes the item, not what you would "
            "answer. Use a value in the same sense from the first item to the last; if you change "
            "your mind about what it means, go back and correct earlier items.",
            _ALONE,
        ),
        (steps,) if tag == "steps" else (),
    )
