"""The sentences that boxpen and its peers are compared on, the same ones every time.

Some are written by hand, to be awkward: single words, long periods, digits, punctuation, odd
spaces, Chinese. The others come from a small grammar. The two kinds take turns until the first is
used up. Every sentence is distinct, so that no tool gains by scoring once what was asked for twice.
"""

from __future__ import annotations

import random
from itertools import islice

__all__ = ["pairs", "sentences"]

_SEED = 1960


def sentences(count: int) -> list[str]:
    """Return so many distinct sentences, of 1 to 60 words."""
    found: dict[str, None] = {}
    written = iter(_WRITTEN)
    rng = random.Random(_SEED)
    while len(found) < count:
        found.update(dict.fromkeys(islice(written, 1)))
        text = _sentence(rng)
        if len(text.split()) <= 60:
            found[text] = None
    return list(found)[:count]


def pairs(count: int) -> list[tuple[str, str]]:
    """Return so many distinct contexts with a continuation, which brings its own space."""
    found = dict.fromkeys(_PAIRS[:count])
    rng = random.Random(_SEED)
    while len(found) < count:
        words = _sentence(rng).split()
        cut = rng.randrange(1, len(words))
        found[" ".join(words[:cut]), " " + " ".join(words[cut:])] = None
    return list(found)


def _sentence(rng: random.Random) -> str:
    clauses = [_expanded("CLAUSE", rng) for _ in range(rng.choice((1, 1, 1, 2, 2, 3, 4, 5)))]
    text = clauses[0]
    for clause in clauses[1:]:
        text += rng.choice(_JOINS) + clause
    return text[0].upper() + text[1:] + rng.choice(_ENDS)


def _expanded(symbol: str, rng: random.Random) -> str:
    """Replace every symbol of the grammar, leftmost first, by one of its productions."""
    words = rng.choice(_GRAMMAR[symbol]).split()
    return " ".join(_expanded(word, rng) if word in _GRAMMAR else word for word in words)


_GRAMMAR: dict[str, list[str]] = {
    "CLAUSE": ["NP VT NP", "NP VT NP PP", "NP VI PP", "NP VI PP TIME", "TIME NP VT NP PP"],
    "NP": ["the N", "a ADJ N", "the ADJ N", "N number NUM", "the N PP", "NAME"],
    "PP": ["in the N", "under the ADJ N", "beside NAME", "behind the N", "without NP"],
    "VT": ["carried", "forgot", "has eaten", "would not lift", "painted", "swallowed", "sold"],
    "VI": ["slept", "fell apart", "was waiting", "froze", "cannot fit", "grew slowly"],
    "N": [
        "box", "pen", "elephant", "refrigerator", "spoon", "turkey", "library", "ladder", "cloud",
        "needle", "farmer", "violin", "bridge", "teapot", "lawyer", "goldfish", "mountain", "shoe",
    ],
    "ADJ": ["small", "wet", "hungry", "wooden", "transparent", "very old", "half-empty", "red"],
    "NUM": ["2", "17", "three", "1,250", "0.5", "forty-one"],
    "NAME": ["Fred", "Mrs. Okafor", "Li Wei", "José", "the O'Briens", "Zoë"],
    "TIME": ["yesterday", "at 6:45 p.m.", "in 1987", "every Tuesday", "before lunch"],
}  # fmt: skip
_JOINS = (", and ", ", but ", " because ", "; ", " while ", " - ", ", so ")
_ENDS = (".", ".", ".", "!", "?", "...")

_WRITTEN: tuple[str, ...] = (
    "Yes",
    "No.",
    "Refrigerator",
    "42",
    "?",
    "猫",
    "Stop!",
    "It rained.",
    "The box is in the pen.",
    "The pen is in the box.",
    "They squeezed a piano into the glove box.",
    "They squeezed a map into the glove box.",
    "A niña gave the café owner €3.50 — exactly.",
    "On 14/02/2019 at 09:30, 3 of the 12 machines stopped; by 10:00 all 12 had.",
    "3.14159265 is close to 22/7, isn't it?",
    'She said: "I can\'t", and he answered: "You mustn\'t".',
    "Wait... what?! (Nobody knew.) [Not even him.]",
    "e-mail me at someone@example.org or see https://example.org/a?b=1&c=2#d",
    "THE SIGN SAID DO NOT ENTER BUT EVERYBODY ENTERED",
    "antidisestablishmentarianism pneumonoultramicroscopicsilicovolcanoconiosis",
    "x = (a + b) * c ** 2 - d // 7  # not prose at all",
    "Two  spaces  between  the  words  of  this  one.",
    "A line\nand the next line, with a\ttab in it.",
    "This one ends with a space. ",
    " This one begins with a space.",
    "The soup was too hot 🍲🔥, so we waited 10 minutes.",
    "Der Hund, den ich gestern sah, hat heute den Briefträger gebissen.",
    "Où est passée la clé que j'avais posée là ?",
    "他们把钢琴塞进了抽屉。",
    "他们把地图塞进了抽屉。",
    "下雨了，所以我们带着伞出门。",
    "盒子在围栏里，不在钢笔里。",
    "这家店一天卖出了128个包子，比昨天多了37个。",
    "我爷爷今年八十岁了，他每天早上六点起床，先喝一杯热水，然后去公园散步。",
    "If you leave ice cream in the sun, it melts; if you leave a stone there, it only gets warm.",
    "The ladder would not go into the green van, because it was too long, and the van would not go "
    "under the bridge either, because somebody had tied the ladder to its roof.",
    "A fish rides a bicycle to the office every morning, locks it to a cloud, and complains to the "
    "stairs that the coffee has once again been drinking its colleagues.",
    "When my grandmother was a girl of nine, in a village that no longer has a name on any map, "
    "she learned to tell from the colour of the smoke what the neighbours were cooking, from the "
    "barking of the dogs who was coming up the road, and from the silence of her own father that "
    "the harvest had failed.",
    "There were 7 apples, 12 pears, 3 melons, 25 plums, 1 pineapple, 40 cherries, 2 mangoes, 18 "
    "figs, 6 oranges, 9 lemons, 31 grapes, 4 peaches, 15 dates, 8 kiwis, 22 olives, 5 quinces, 11 "
    "limes, 13 nuts, 10 bananas and, at the very bottom of the basket, one small and rather "
    "frightened hedgehog, fast asleep.",
    "冬天的早晨，河面上结了一层厚厚的冰，孩子们在上面滑来滑去，老人们站在岸边看着，"
    "谁也没有注意到，太阳已经慢慢地升了起来，冰正在一点一点地融化。",
)

_PAIRS: tuple[tuple[str, str], ...] = (
    ("The box is in", " the pen."),
    ("They squeezed a piano into the", " glove box."),
    ("They squeezed a map into the", " glove box."),
    ("To keep soup warm, you should", " put it into a thermos flask."),
    ("To keep soup warm, you should", " pour it over 3 kg of ice."),
    ("Question: what do 2 and 2 make?\nAnswer:", " 4"),
    ("Question: can a fish ride a bicycle?\nAnswer:", " No."),
    ("Goal: cut bread.\nSolution:", " use a knife; a spoon will not do (I tried)."),
    ("他把大象放进了冰箱。", "这是不可能的。"),
    ("中文：下雨了。\nEnglish:", " It is raining."),
    ("The answer,", " she said, is 1,250.75 - or nearly so."),
    ("Yes", "!"),
)
