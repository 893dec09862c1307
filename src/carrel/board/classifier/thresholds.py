"""The thresholds and weights by which the classifier sorts messages and groups topics."""

# -- How well a text fits a topic or a task, as a sum.

# Each repetition of a word in a topic counts less than the one before, and a text of few words less than one of many.
FIT_SATURATION, FIT_FEW = 0.6, 0.5
FIT_NAME, FIT_WORDS, FIT_MEANING = 0.45, 0.45, 0.3
# Subtracted from the score of a snoozed candidate.
SNOOZED_PENALTY = 0.05

# -- Which topic or task a message goes to.

# The lowest score of a task; of a topic that a person has named; of a new topic of the classifier; and of one of its
# topics with more messages. Then the similarity from which two names mean the same topic, or the same task.
TASK_MIN, TOPIC_MIN, YOUNG_MIN, MADE_MIN = 0.4, 0.29, 0.37, 0.6
SAME_TOPIC, SAME_TASK = 0.72, 0.78
# Whether a message continues the last topic, as a sum: a base value, soon after the last message or after a pause; the
# weight of similar meaning; and the weight of repeated words. It continues from 0 on, and from CONTINUES_HELD on even
# if another topic fits.
CONTINUES_SOON, CONTINUES_LATER, CONTINUES_MEANING, CONTINUES_WORDS = -0.3, -1.6, 6.0, 3.5
CONTINUES_HELD = 1.5
# A message with fewer distinctive words continues the last topic if its meaning is unknown.
OWN_WORDS_MIN = 4

# -- Greetings, thanks and names.

# A message of at most this many words stands alone. A word is a social one if at least this many messages with it, and
# at least this share of them, stand alone or address somebody with it.
ALONE_WORDS_MAX, SOCIAL_MIN, SOCIAL_SHARE = 3, 2, 0.5
# A longer message is more than small talk.
SMALL_TALK_WORDS_MAX = 8

# -- Grouping the messages of a space.

# The weight of meaning; that of words is 1.
GROUP_MEANING = 0.3
# The approximate similarity in meaning of two texts by chance; and the weight of the share of repeated words.
GROUP_CHANCE, GROUP_REPEATED = 0.1, 4.0
# How many of the following messages count, and the weight of a message's similarity to them.
GROUP_COMING, GROUP_AHEAD = 3, 0.3
# A chat is cut if the next message is not more similar than by chance by this much; after a pause, by more.
GROUP_CUT, GROUP_PAUSE = 0.4, 1.0
# Two pieces are about the same thing if their similarity is at least this share of the similarity within them; more is
# known about groups, so for these less is enough.
SAME_PIECES, SAME_GROUPS = 0.45, 0.15
# A word's weight is this power of its rarity among groups: words of every conversation hardly count, in any language.
GROUP_RARITY = 3
# With this many pairs, the similarity within a piece counts as much as the usual one.
GROUP_PAIRS_KNOWN = 6.0
# Similarity by chance is measured between messages of different pieces; with fewer pairs than this it counts less.
GROUP_PAIRS_APART = 100.0
# Messages with a smaller share of known common words are in a language without a list of these.
GROUP_KNOWN_LANGUAGE = 0.25
# The cost of changing groups, in messages that fit perfectly; and its factor after a pause.
GROUP_LEAVING, GROUP_LEAVING_LATER = 1.0, 0.5
# The lowest and the highest value of how well a message fits a group, and the value of one that is alone.
GROUP_LEAST, GROUP_MOST, GROUP_ALONE = -0.5, 3.0, 0.3
# How often messages are assigned to groups: with each round, groups and their distinctive words become clearer.
GROUP_ROUNDS = 3

# -- Naming topics.

# A topic is named again when it has this many times the messages that it had when it was named.
RENAMED_AT = 2
# The most words in a name, and the lowest weight of a word relative to the first one.
NAME_WORDS_MAX, NAME_SHARE_MIN = 3, 0.35
