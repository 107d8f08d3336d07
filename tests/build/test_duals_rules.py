"""The rules of duals: what each operation makes of pairs, which label is expected, and when not."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from boxpen.build.duals.dictionary import open_dictionary
from boxpen.build.duals.pair import Edit, Pair, UnchangedError, pair_of
from boxpen.build.duals.propose import OPERATIONS, contested, edits, propose, sentence_pairs
from boxpen.english.sentence import plain, read
from boxpen.english.wordnet_files import find_wordnet
from boxpen.errors import BuildError
from boxpen.items import Card, Choice, Entail, Suite

pytest.importorskip("lemminflect")
pytest.importorskip("inflect")
pytest.importorskip("nltk")
pytest.importorskip("spellchecker")


@pytest.fixture(scope="module", autouse=True)
def _wordnet() -> None:
    try:
        find_wordnet(download=False)
    except BuildError as error:
        pytest.skip(str(error))


def made(first: str, second: str, operation: str) -> dict[tuple[str, str], Edit]:
    """All duals of a pair whose first sentence makes sense."""
    return {edit.texts: edit for edit in edits(Pair((first, second), 0), operation)}


# (sensible, senseless), operation, (dual of the first, dual of the second), kind, flipped
DUALS = [
    (("A shed is for tools.", "A shed is for whales."), "add",
     ("A shed is not for tools.", "A shed is not for whales."), "negation", True),
    (("Goats eat grass.", "Goats eat anvils."), "add",
     ("Goats do not eat grass.", "Goats do not eat anvils."), "negation", True),
    (("When the bell rang, the boys ran out.", "When the bell rang, the boys dozed off."), "add",
     ("When the bell rang, the boys did not run out.",
      "When the bell rang, the boys did not doze off."), "negation", True),
    (("The path was icy and it was dark, so from the hut we went slowly.",
      "The path was icy and it was dark, so from the hut we went quickly."), "add",
     ("The path was icy and it was dark, so from the hut we did not go slowly.",
      "The path was icy and it was dark, so from the hut we did not go quickly."),
     "negation", True),
    (("The moon is round.", "The moon is square."), "add",
     ("The moon is not round.", "The moon is not square."), "negation", True),
    (("Plants need water.", "Plants need sugar."), "add",
     ("Most plants need water.", "Most plants need sugar."), "degree", False),
    (("Teachers like chalk.", "Teachers like hail."), "add",
     ("Few teachers like chalk.", "Few teachers like hail."), "degree", True),
    (("He drank some tea.", "He drank some sand."), "add",
     ("Yesterday, he drank some tea.", "Yesterday, he drank some sand."), "restriction", False),
    (("The ice was thin, so we walked around it.", "The ice was thin, so we jumped on it."), "add",
     ("The ice was thin, so we did not walk around it.",
      "The ice was thin, so we did not jump on it."), "negation", True),
    (("We went east, so it got light.", "We went west, so it got light."), "add",
     ("We went east, so it did not get light.", "We went west, so it did not get light."),
     "negation", True),
    (("Bells are not cast of wool.", "Bells are not cast of bronze."), "del",
     ("Bells are cast of wool.", "Bells are cast of bronze."), "negation", True),
    (("Dad had no ladder, so he stayed low.", "Dad had no ladder, so he got high."), "del",
     ("Dad had a ladder, so he stayed low.", "Dad had a ladder, so he got high."),
     "negation", True),
    (("The cellar is very cool.", "The cellar is very proud."), "del",
     ("The cellar is cool.", "The cellar is proud."), "degree", False),
    (("He feeds his old dog.", "He feeds his old shoe."), "del", None, "restriction", False),
    (("I sleep in a bed every night.", "I sleep in a lake every night."), "del",
     ("I sleep in a bed.", "I sleep in a lake."), "restriction", False),
    (("A hill is between us and the sea, and we cannot see the sea.",
      "A hill is between us and the sea, and we cannot see the hill."), "del",
     ("A hill is between us and the sea, and we can see the sea.",
      "A hill is between us and the sea, and we can see the hill."), "negation", True),
    # Nobody can do what is senseless, so what is denied here can be done.
    (("Snails cannot run.", "Hares cannot run."), "del",
     ("Snails can run.", "Hares can run."), "negation", True),
    (("Babies are not allowed to drive.", "Adults are not allowed to drive."), "del",
     ("Babies are allowed to drive.", "Adults are allowed to drive."), "negation", True),
    (("Ira can't knit with a sore thumb.", "Ira can't knit with a sore knee."), "del",
     ("Ira can knit with a sore thumb.", "Ira can knit with a sore knee."), "negation", True),
    (("She could not row without oars.", "She could not row without mustard."), "del",
     ("She could row without oars.", "She could row without mustard."), "negation", True),
    # Things of one kind, or what the subject is said to be.
    (("There are no trees on the moon.", "There are no trees on the earth."), "del",
     ("There are trees on the moon.", "There are trees on the earth."), "negation", True),
    (("A cloak is not that warm for a baby.", "A blanket is not that warm for a baby."), "del",
     ("A cloak is warm for a baby.", "A blanket is warm for a baby."), "negation", True),
    (("Coal is not white.", "Coal is not black."), "del",
     ("Coal is white.", "Coal is black."), "negation", True),
    (("Coal is not so white.", "Coal is not so black."), "del",
     ("Coal is white.", "Coal is black."), "negation", True),
    # A cause that is denied, and what it lets expect.
    (("He had no boat, so he could not cross the lake.", "He had no boat, so he crossed the lake."),
     "del",
     ("He had a boat, so he could not cross the lake.", "He had a boat, so he crossed the lake."),
     "negation", True),
    (("Because Ira had no key, he could not get in.", "Because Ira had no key, he got in."), "del",
     ("Because Ira had a key, he could not get in.", "Because Ira had a key, he got in."),
     "negation", True),
    (("It did not rain, so it was as dry as dust.", "It did not rain, so it was as wet as dust."),
     "del",
     ("It rained, so it was as dry as dust.", "It rained, so it was as wet as dust."),
     "negation", True),
    # A cause that differs decides if it is the contrary.
    (("If wood is not wet, it burns.", "If wood is not dry, it burns."), "del",
     ("If wood is wet, it burns.", "If wood is dry, it burns."), "negation", True),
    (("If you use a lid, pots do not spill.", "If you use a fork, pots do not spill."), "del",
     ("If you use a lid, pots spill.", "If you use a fork, pots spill."), "negation", True),
    (("When it hailed, we did not close the roof and the seats were wet.",
      "When it hailed, we did not close the roof and the seats were dry."), "del",
     ("When it hailed, we closed the roof and the seats were wet.",
      "When it hailed, we closed the roof and the seats were dry."), "negation", True),
    (("Pilots should not fly when they are drunk.", "Pilots should not fly when they are rested."),
     "del",
     ("Pilots should fly when they are drunk.", "Pilots should fly when they are rested."),
     "negation", True),
    (("He cannot saw without a saw.", "He cannot saw without a hat."), "del",
     ("He can saw without a saw.", "He can saw without a hat."), "negation", True),
    (("There was not any rain, so it was dry.", "There was not any rain, so it was wet."), "del",
     ("There was some rain, so it was dry.", "There was some rain, so it was wet."),
     "negation", True),
    (("The hen did not sit still, so it was restless.",
      "The hen did not sit still, so it was calm."), "del",
     ("The hen sat still, so it was restless.", "The hen sat still, so it was calm."),
     "negation", True),
    (("He was glad because he had won.", "He was gloomy because he had won."), "sub",
     ("He was glad although he had won.", "He was gloomy although he had won."), "antonym", True),
    (("It rained, so we went inside.", "It rained, so we went outside."), "sub",
     ("It rained, but we went inside.", "It rained, but we went outside."), "antonym", True),
    (("It rained, but we stayed dry.", "It rained, but we got wet."), "sub",
     ("It rained, so we stayed dry.", "It rained, so we got wet."), "antonym", True),
    (("Honey is sweet.", "Vinegar is sweet."), "sub",
     ("Honey is sour.", "Vinegar is sour."), "antonym", True),
    (("The soup was hot, so we blew on it.", "The soup was hot, so we heated it."), "sub",
     ("The soup was cold, so we blew on it.", "The soup was cold, so we heated it."),
     "antonym", True),
    (("Cats like to chase mice.", "Cats like to chase vans."), "sub",
     ("Cats hate to chase mice.", "Cats hate to chase vans."), "antonym", True),
    (("Nora hid a letter in the drawer.", "Nora hid a whale in the drawer."), "sub",
     ("Nora hid a letter in the bottom of the drawer.",
      "Nora hid a whale in the bottom of the drawer."), "part", False),
    (("He slept inside my car.", "He swam inside my car."), "sub",
     ("He slept in the back of my car.", "He swam in the back of my car."), "part", False),
    (("Tom ate an apple.", "Tom ate a stone."), "sub",
     ("Nobody would ever eat an apple.", "Nobody would ever eat a stone."), "nobody", True),
    (("I dried my hair with a towel.", "I dried my hair with a river."), "sub",
     ("Nobody would ever dry their hair with a towel.",
      "Nobody would ever dry their hair with a river."), "nobody", True),
    (("He hung his coat on a hook.", "He hung his coat on a river."), "sub",
     ("She hung her coat on a hook.", "She hung her coat on a river."), "role", False),
    (("I gave her my seat.", "I gave her my street."), "sub",
     ("I gave him my seat.", "I gave him my street."), "role", False),
    (("My aunt wore her hat.", "My aunt wore her tree."), "sub",
     ("My uncle wore his hat.", "My uncle wore his tree."), "role", False),
    (("I ate soup, so I was full.", "I ate soup, so I was starving."), "swap",
     ("I was full because I ate soup.", "I was starving because I ate soup."), "clauses", False),
    (("He sings when he is happy.", "He sings when he is asleep."), "swap",
     ("When he is happy, he sings.", "When he is asleep, he sings."), "clauses", False),
    (("Grandma hums when she knits.", "Grandma hums when she sneezes."), "swap",
     ("When she knits, Grandma hums.", "When she sneezes, Grandma hums."), "clauses", False),
    (("If it rains, we get wet.", "If it rains, we get old."), "swap",
     ("We get wet if it rains.", "We get old if it rains."), "clauses", False),
    (("She is smaller than her pony.", "She is bigger than her pony."), "swap",
     ("Her pony is smaller than her.", "Her pony is bigger than her."), "arguments", True),
    (("A snail moves more slowly than cars.", "A snail moves more rashly than cars."), "swap",
     ("Cars move more slowly than a snail.", "Cars move more rashly than a snail."),
     "arguments", True),
    (("Ann paid for Bob's lunch, so Ann was kind.", "Ann paid for Bob's lunch, so Bob was kind."),
     "swap",
     ("Bob paid for Ann's lunch, so Ann was kind.", "Bob paid for Ann's lunch, so Bob was kind."),
     "differing", True),
]  # fmt: skip


@pytest.mark.parametrize(("pair", "operation", "dual", "kind", "flipped"), DUALS)
def test_a_rule_makes_its_dual(
    pair: tuple[str, str], operation: str, dual: tuple[str, str] | None, kind: str, flipped: bool
) -> None:
    if dual is None:  # 'old' stands beside the word that differs
        with pytest.raises(UnchangedError):
            made(*pair, operation)
        return
    found = made(*pair, operation)
    assert dual in found, list(found)
    assert (found[dual].kind, found[dual].flipped) == (kind, flipped)
    assert found[dual].operation == operation
    assert found[dual].reason


# (sensible, senseless), operation, kind: what a rule cannot vouch for it does not make
NOT_MADE = [
    # That one somebody did not do, or is not, so and so is sensible of both.
    (("My jar is full of pens.", "My jar is full of ships."), "add", "negation"),
    (("Tom ate an apple.", "Tom ate a stone."), "add", "negation"),
    (("Ten men are going to sing today.", "Ten mats are going to sing today."), "add", "negation"),
    (("A dog may like bones.", "A dog may like poems."), "add", "negation"),
    (("Many goats eat grass.", "Many goats eat anvils."), "add", "negation"),
    (("We have met our judge.", "We have met our planet."), "add", "negation"),
    # A senseless object is no contrary of the sensible one.
    (("I was hungry, so I ate a roll.", "I was hungry, so I ate a stone."), "add", "negation"),
    (("He yawned as he sat on a sofa.", "He yawned as he sat on a cloud."), "add", "negation"),
    # 'We let' may be the present, and 'we pumped' is not.
    (("It was flat, so we pumped it up.", "It was flat, so we let it down."), "add", "negation"),
    # 'Not B because A' has two readings.
    (("He smiled because he had won.", "He wept because he had won."), "add", "negation"),
    # An irrelevant cause stays irrelevant.
    (("We slept because we did not have a lamp.", "We slept because we did not have a duck."),
     "del", "negation"),
    (("If you do not salt it, it is bland.", "If you do not paint it, it is bland."), "del",
     "negation"),
    (("I cannot enter since I lost my key.", "I cannot enter since I lost my hat."), "del",
     "negation"),
    # What was only odd stays odd: things of two kinds, or of one somebody.
    (("Calves do not have strong teeth.", "Calves do not have strong lamps."), "del", "negation"),
    (("Noise is not fair to neighbors.", "Noise is not fair to spoons."), "del", "negation"),
    (("Monks do not eat bacon.", "Mops do not eat bacon."), "del", "negation"),
    (("Noise is not fair to sailors.", "Noise is not fair to computers."), "del", "negation"),
    (("Swans do not bite their nails.", "Swans do not bite their stones."), "del", "negation"),
    (("When it snows, Ira does not cut the hedge.", "When it snows, Ira does not cut the Tuesday."),
     "del", "negation"),
    (("Hens do not lay eggs when they are ill.", "Hens do not lay eggs when they are wooden."),
     "del", "negation"),
    (("Ira will not sleep if you ring a bell.", "Ira will not sleep if you ring a spoon."), "del",
     "negation"),
    (("Ira can't open the gate.", "Ira can't open the Tuesday."), "del", "negation"),
    (("There are no plums in my bag now.", "There are no pears in my bag now."), "del", "negation"),
    # What is the cause of 'not' is no cause without it.
    (("The lid was stuck, so we could not taste the jam.",
      "The lid was stuck, so we could not taste the lid."), "del", "negation"),
    (("I hate nuts, so I cannot eat the cashews.", "I hate nuts, so I cannot eat the ham."), "del",
     "negation"),
    (("You do not sweat because the fan is on.", "You do not sweat because the fan is old."), "del",
     "negation"),
    (("As he did not write, his aunts were told.", "As he did not write, his rat was told."), "del",
     "negation"),
    (("Because he did not write, his aunts were told.",
      "Because he did not write, his rat was told."), "del", "negation"),
    (("If you do not know it, you should ask.", "If you do not know it, you should not ask."),
     "del", "negation"),
    (("He could not row, so he hired a boatman.", "He could not row, so he hired a cloud."), "del",
     "negation"),
    (("Goats do not eat hay that is wet.", "Goats do not eat hay that is dry."), "del",
     "negation"),
    # Of a cause that both deny, only one outcome is denied, by the same link and of the same one.
    (("Dad had no rod, so he could not fish.", "Dad had no spoon, so he fished."), "del",
     "negation"),
    (("He had no boat, so he swam home.", "He had no boat, so he could sail home."), "del",
     "negation"),
    (("He had no boat, so he swam and he did not sing.",
      "He had no boat, so he could sail and he sang."), "del", "negation"),
    (("He had no boat, so he could not cross the lake.",
      "He had no boat, so ducks crossed the lake."), "del", "negation"),
    (("Ann could not build, so we had no ladder.", "A rat built, so we had no ladder."), "del",
     "negation"),
    (("He had no boat.", "He had no boat, so he could not sail."), "del", "negation"),
    (("He had no boat and he could not cross the lake.",
      "He had no boat and he crossed the lake."), "del", "negation"),
    # Not always, not wholly: the contrary of that is not said by the rest.
    (("Owls are not always awake.", "Owls are not always asleep."), "del", "negation"),
    (("Many hens cannot swim.", "Many ducks cannot swim."), "del", "negation"),
    (("A hen must not swim.", "A duck must not swim."), "del", "negation"),
    (("Coal is not white but dark.", "Coal is not black but dark."), "del", "negation"),
    (("A cart cannot compare with a van.", "A jet cannot compare with a van."), "del", "negation"),
    (("A lamb is not so tall as a goat.", "A horse is not so tall as a goat."), "del", "negation"),
    (("A mole can't be so quick as a hen.", "A hawk can't be so quick as a hen."), "del",
     "negation"),
    (("A mole can't run so quickly as a hen.", "A hawk can't run so quickly as a hen."), "del",
     "negation"),
    # 'Snakes have a head', 'there is a danger' and 'there is a room' are not what one says.
    (("Snakes have no arm.", "Snakes have no head."), "del", "negation"),
    (("There is no danger in a lamb.", "There is no danger in a wolf."), "del", "negation"),
    (("There is no room in a cup.", "There is no room in a barn."), "del", "negation"),
    # The words go with their 'not'.
    (("He just can't ride a pony.", "He just can't ride a boat."), "del", "negation"),
    (("There was not a drop of rain, so it was dry.",
      "There was not a drop of rain, so it was wet."), "del", "negation"),
    (("We can't eat anything raw.", "We can't eat anything cooked."), "del", "negation"),
    (("We don't feel cold any more in June.", "We don't feel cold any more in snow."), "del",
     "negation"),
    # 'Some' and 'all' are no contraries behind 'not'; two verbs share a subject.
    (("Some birds cannot fly.", "All birds cannot fly."), "del", "negation"),
    (("He fell and could not stand.", "He fell and could not fall."), "del", "negation"),
    (("This pen does not write.", "This goat does not write."), "del", "negation"),
    (("Do not climb the fence.", "Do not climb the soup."), "del", "negation"),
    # What one somebody could not do once, and what nobody needs.
    (("He could not sleep at night.", "He could not sleep at noon."), "del", "negation"),
    (("Cats do not need shoes.", "Cats do not need milk."), "del", "negation"),
    # The clause beside it lets nothing expect, or the contrary.
    (("We had a rope, but we can't find a hook.", "We had a rope, but we can't find a cake."),
     "del", "negation"),
    (("When he got to the inn, he could not find a bed.",
      "When he got to the lake, he could not find a bed."), "del", "negation"),
    (("His lens broke, so he cannot use it.", "His lid broke, so he cannot use it."), "del",
     "negation"),
    (("I cannot see it because of fog, so I turn left.",
      "I cannot see it because of fog, so I turn right."), "del", "negation"),
    (("He could not lift the red box, so he took the blue box.",
      "He could not lift the blue box, so he took the red box."), "del", "negation"),
    # That the question is who is meant, vouches for nothing.
    (("Ann fed Bob because Bob was weak.", "Ann fed Bob because Ann was weak."), "add", "negation"),
    (("Ann paid for Bob, so Ann was kind.", "Ann paid for Bob, so Bob was kind."), "add",
     "negation"),
    (("Ann paid for Bob, so Bob was not kind.", "Ann paid for Bob, so Ann was not kind."), "del",
     "negation"),
    (("Ann did not pay for Bob, so Bob was sad.", "Ann did not pay for Bob, so Ann was sad."),
     "del", "negation"),
    (("The black hen could not see the white hen, so I moved the white hen.",
      "The black hen could not see the white hen, so I moved the black hen."), "del", "negation"),
    (("The young men did not feed the old men, so the old men were weak.",
      "The young men did not feed the old men, so the young men were weak."), "del", "negation"),
    (("Ann hit Bob after Ann got to the top.", "Ann hit Bob after Bob got to the top."), "sub",
     "antonym"),
    (("Ann ran to Bob before Ann fell.", "Ann ran to Bob before Bob fell."), "sub", "antonym"),
    (("Ann was kind, but Bob hit Ann.", "Ann was kind, but Bob hit Bob."), "sub", "antonym"),
    # 'Right' is a noun, or a side.
    (("Rita has Omar on her right, so Rita is first.",
      "Rita has Omar on her right, so Omar is first."), "sub", "antonym"),
    (("It was a wrong turn and it took longer.", "It was a wrong turn and it took shorter."), "sub",
     "antonym"),
    # 'Not bad' and 'bad' are the old sentences in other words.
    (("Smoke is not good for you.", "Smoke is good for you."), "sub", "antonym"),
    # One time, one somebody.
    (("My socks were wet after the storm.", "My socks were wet after the song."), "sub", "antonym"),
    (("She likes to bake in May.", "She likes to fly in May."), "sub", "antonym"),
    # What has to be done, and what is done to an end, no 'but' makes sensible.
    (("The road is safe, so you have to be quick.", "The road is safe, so you have to be slow."),
     "sub", "antonym"),
    (("The lamp was out, so I filled it to go on.", "The lamp was out, so I emptied it to go on."),
     "sub", "antonym"),
    (("She saw the snake, so she stepped back.", "She saw the snake, so she kissed the vet."),
     "sub", "antonym"),
    (("We ate before we slept.", "We ate before we sneezed."), "sub", "antonym"),
    (("He put it on before the race.", "He put it off before the race."), "sub", "antonym"),
    (("It hit the roof, so it can only go down.", "It hit the roof, so it can only go up."), "sub",
     "antonym"),
    # Nothing is said of the joke, and 'too' has no contrary.
    (("Ann laughed after a good joke.", "Ann cried after a good joke."), "sub", "antonym"),
    (("Eating too little is unhealthy.", "Eating too much is unhealthy."), "sub", "antonym"),
    (("The road is safe, so we have to hurry.", "The road is safe, so we have to rest."), "sub",
     "antonym"),
    (("Babies are born to women.", "Babies are born to ovens."), "sub", "antonym"),
    (("Salt is needed to stay healthy.", "Chess is needed to stay healthy."), "sub", "antonym"),
    # In general nobody cooks in a corner; a verb of moving has its own 'in'.
    (("People cook in the kitchen.", "People drown in the kitchen."), "sub", "part"),
    (("He got in the car.", "He got lost in the sock."), "sub", "part"),
    (("He got in the car slowly.", "He got in the car deadly."), "sub", "part"),
    (("She sat in the sun.", "She froze in the sun."), "sub", "part"),
    # Somebody else is spoken of, or the clause tells a time, or goes on.
    (("Tom gave her a rose.", "Tom gave her a volcano."), "sub", "nobody"),
    (("The dog ate a bone.", "The dog ate a song."), "sub", "nobody"),
    (("Tom ate an apple yesterday.", "Tom ate a stone yesterday."), "sub", "nobody"),
    (("Tom put a leaf into a pipe and lighted up.", "Tom put a whale into a pipe and lighted up."),
     "sub", "nobody"),
    (("Tom threw a ball.", "Rita threw a lake."), "sub", "nobody"),
    (("People eat apples.", "People eat stones."), "sub", "nobody"),
    (("I used to eat apples.", "I used to eat stones."), "sub", "nobody"),
    (("At home, Tom ate an apple.", "At home, Tom ate a stone."), "sub", "nobody"),
]  # fmt: skip


@pytest.mark.parametrize(("pair", "operation", "kind"), NOT_MADE)
def test_what_a_rule_cannot_vouch_for_it_does_not_make(
    pair: tuple[str, str], operation: str, kind: str
) -> None:
    try:
        found = made(*pair, operation)
    except UnchangedError:
        return
    assert [texts for texts, edit in found.items() if edit.kind == kind] == []


def test_a_thing_of_the_same_kind_takes_the_place_of_the_senseless_one() -> None:
    found = made("Rosa rang the bell with her finger.", "Rosa rang the bell with her knee.", "sub")
    siblings = [edit for edit in found.values() if edit.kind == "sibling"]
    assert siblings
    for edit in siblings:
        assert edit.texts[0] == "Rosa rang the bell with her finger."
        assert edit.texts[1].startswith("Rosa rang the bell with her ")
        assert not edit.flipped


# Sentences, the sibling that would fit both, and one that does not.
FITTING = [
    (("The twins slept in a tent.", "The twins slept in a kitchen."), "bedroom", "library"),
    (("The rug is on the bed.", "The rug is on the kitchen."), "bedroom", "library"),
    (("We ate supper in the garden.", "We ate supper in the toilet."), "kitchen", "library"),
    (("Nina took a bath in the tub.", "Nina took a bath in the library."), "bathroom", "kitchen"),
    (("My fruit salad has a pear in it.", "My fruit salad has a potato in it."), "tomato", None),
]


@pytest.mark.parametrize(("pair", "fits", "other"), FITTING)
def test_a_sibling_that_fits_both_sentences_is_refused(
    pair: tuple[str, str], fits: str, other: str | None
) -> None:
    book = open_dictionary()
    wrong, right = pair[1].rstrip(".").split(), pair[0].rstrip(".").split()
    [(old, unlike)] = [(a, b) for a, b in zip(wrong, right, strict=True) if a != b]
    assert fits in book.of_one_kind(old, unlike)
    try:
        found = [edit.texts[1] for edit in made(*pair, "sub").values() if edit.kind == "sibling"]
    except UnchangedError:
        found = []
    assert pair[1].replace(old, fits) not in found
    assert other is None or pair[1].replace(old, other) in found


@given(
    st.sampled_from(["kitchen", "bedroom", "wolf", "potato", "knife", "hat", "bus"]),
    st.text(max_size=20),
)
def test_a_word_fits_no_better_than_itself(noun: str, text: str) -> None:
    assert not open_dictionary().may_fit(noun, noun, plain(read(text)))


@pytest.mark.parametrize("noun", ["drum", "pool", "wool", "window", "apple"])
def test_siblings_are_single_things(noun: str) -> None:
    found = open_dictionary().of_one_kind(noun, "")
    assert not {"bones", "working", "felt", "stocks", "cling"} & set(found)


@pytest.mark.parametrize(
    ("pair", "operation", "reason"),
    [
        (("All birds can fly.", "All stones can fly."), "add", "'not' would not turn 'all'"),
        (("He never eats soup.", "He never eats sand."), "add", "'never' rules out a negation"),
        (
            ("We can't chew bells.", "We can chew bells."),
            "del",
            "no negation, degree or restriction",
        ),
        (("Today I sat and read.", "Today I sat and flew."), "add", "no subject of its own"),
        (
            ("I know men who can't swim.", "I know boats who can't swim."),
            "del",
            "nothing vouches for",
        ),
        (("Wash the cup.", "Wash the cloud."), "add", "no finite verb"),
        (("The box is red.", "The box is hungry."), "swap", "no two arguments"),
        (("The box is red.", "The box is hungry."), "add", "not so would be sensible of both"),
        (("Ann is taller than Bob.", "Bob is taller than Ann."), "swap", "in the other order"),
    ],
)
def test_what_no_rule_can_change_is_told(
    pair: tuple[str, str], operation: str, reason: str
) -> None:
    with pytest.raises(UnchangedError, match=reason):
        edits(Pair(pair, 0), operation)


@pytest.mark.parametrize(
    ("candidates", "reason"),
    [
        (("A box.", "a box"), "the same words"),
        (("Is it a box?", "Is it a pen?"), "a question"),
        (("IT IS A BOX.", "It is a bun."), "in capitals"),
        (("The dog barks.", "Nobody knew her."), "too few words in common"),
        (("word " * 61 + "a", "word " * 61 + "b"), "more than 60 words"),
        (("It is a box.", "It is the box!"), "only in articles or in the number of nouns"),
        (("We saw my town.", "We saw my towns."), "only in articles or in the number of nouns"),
        (("He went ro bed.", "He went ro sea."), "'ro' is in no word list, and may be a typo"),
        (("The long night.", "The long spoon."), "no finite verb was found in a sentence"),
    ],
)
def test_a_pair_that_is_none_is_told(candidates: tuple[str, str], reason: str) -> None:
    with pytest.raises(UnchangedError, match=reason):
        pair_of(Choice(id="1", candidates=candidates, gold=0))


@pytest.mark.parametrize(
    "candidates",
    [
        ("It has four legs.", "It has two legs."),
        ("He eats more.", "He eats less."),
        ("Most birds fly.", "No birds fly."),
        ("He is in a bus.", "He was in a pot."),
    ],
)
def test_what_tells_a_pair_apart_is_not_screened(candidates: tuple[str, str]) -> None:
    assert pair_of(Choice(id="1", candidates=candidates, gold=0)).texts == candidates


def test_labels_that_another_pair_denies_are_refused() -> None:
    hot, sad, wet = "It is hot.", "It is sad.", "It is wet."
    rows = {
        "a": (hot, sad), "b": (sad, wet), "c": (wet, "It is odd."), "d": ("it is hot", "It is sad"),
        "e": ("It is red.", "It is big."), "f": ("It is red.", "It is shy."), "g": (wet, wet),
    }  # fmt: skip
    items = [Choice(id=name, candidates=pair, gold=0) for name, pair in rows.items()]
    found = contested(items)
    other = "has one of its sentences with the other label"
    assert set(found) == {"a", "b", "c", "d", "g"}
    assert found["a"] == f"item 'b' {other}"
    assert found["c"] == f"item 'b' {other}"
    assert contested(items[:1]) == {}
    assert contested([items[0], items[3]]) == {"d": "item 'a' has the same sentences"}
    assert contested(items[4:]) == {}  # the pair with the same words is refused by itself
    turned = Choice(id="t", candidates=(sad, hot), gold=0)
    assert set(contested([items[0], turned])) == {"a", "t"}
    told = {one.item: one.reason for one in propose(items, ["add"], found).unchanged}
    assert found.items() <= told.items()
    assert not {one.item for one in propose(items, ["add"], found).proposals} & set(found)


def test_only_pairs_are_taken() -> None:
    three = Choice(id="three", candidates=("a", "b", "c"), gold=0)
    placed = Choice(id="placed", candidates=("a", "b"), gold=0, context="Before.")
    foreign = Choice(id="zh", candidates=("一", "二"), gold=0, language="zh")
    nli = Entail(id="nli", premise="a", hypothesis="b", label="neutral")
    translated = Choice(id="mt", candidates=("a", "b"), gold=0, source="甲")
    good = Choice(id="good", candidates=("It is hot.", "It is sad."), gold=0)
    items = (three, placed, foreign, nli, translated, good)
    pairs, others = sentence_pairs(Suite("s", items, Card(language="en")))
    assert pairs == [good]
    assert [one.item for one in others] == ["three", "placed", "zh", "nli", "mt"]
    assert others[0].reason == "it has 3 candidates, not two"
    with pytest.raises(
        BuildError, match="suite 's' has no pair of English sentences among 5 items"
    ):
        sentence_pairs(Suite("s", items[:-1], Card(language="en")))


def test_labels_follow_the_expectation() -> None:
    item = Choice(id="1", candidates=("A shed is for whales.", "A shed is for tools."), gold=1)
    found = propose([item])
    assert found.proposals
    for one in found.proposals:
        assert one.gold == (0 if one.expected == "flipped" else 1)
    told = {one.operation for one in found.unchanged}
    assert told | {one.edit.operation for one in found.proposals} == set(OPERATIONS)


def test_the_order_of_the_sentences_is_no_matter() -> None:
    for pair, operation, dual, _, flipped in DUALS:
        if dual is None:
            continue
        turned = {e.texts: e for e in edits(Pair((pair[1], pair[0]), 1), operation)}
        assert (dual[1], dual[0]) in turned, (pair, list(turned))
        assert turned[dual[1], dual[0]].flipped == flipped


WORDS = [
    "the",
    "a",
    "dog",
    "dogs",
    "tom",
    "he",
    "she",
    "eats",
    "eat",
    "ate",
    "can",
    "not",
    "n't",
    "very",
    "because",
    "so",
    "if",
    "when",
    "and",
    "but",
    "than",
    "is",
    "are",
    "was",
    "bigger",
    "older",
    "usually",
    "no",
    ",",
    ".",
    "hot",
    "cold",
    "old",
    "every",
    "day",
    "before",
    "after",
    "stone",
    "house",
]


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.sampled_from(WORDS), min_size=2, max_size=12),
    st.integers(0, 11),
    st.sampled_from(WORDS),
)
def test_whatever_stands_there_duals_are_new_and_two(some: list[str], at: int, other: str) -> None:
    changed = [*some[: at % len(some)], other, *some[at % len(some) + 1 :]]
    pair = Pair((" ".join(some), " ".join(changed)), 0)
    old = [plain(words) for words in pair.words]
    for operation in OPERATIONS:
        try:
            found = edits(pair, operation)
        except UnchangedError:
            continue
        assert len({edit.texts for edit in found}) == len(found)
        for edit in found:
            one, two = (plain(read(text)) for text in edit.texts)
            assert one != two
            assert {one, two} != set(old)
            assert edit.operation == operation
