"""The thresholds and weights by which the classifier sorts messages and groups topics."""

# -- How well a text fits a topic or a task, as a sum.

# Each repetition of a word in a topic counts less; and a text of few words counts less than one of many.
FIT_SATURATION, FIT_FEW = 0.6, 0.5
FIT_NAME, FIT_WORDS, FIT_MEANING = 0.45, 0.45, 0.3
# What a snoozed candidate's score is reduced by.
SNOOZED_PENALTY = 0.05

# -- Which topic or task a message goes to.

# The least score of a task; of a topic that somebody has named; of one that the classifier has just made; and of one
# that it has made and that has many words by now. Then the likeness from which two names mean the same.
TASK_MIN, TOPIC_MIN, YOUNG_MIN, MADE_MIN = 0.4, 0.29, 0.37, 0.6
SAME_TOPIC, SAME_TASK = 0.72, 0.78
# Whether a message continues what was said before it, as a sum: a base value, soon after it or after a pause; the
# weight of similar meaning; and the weight of words that were said before. From 0 on it continues, and from
# CONTINUES_HELD on no other topic takes it away.
CONTINUES_SOON, CONTINUES_LATER, CONTINUES_MEANING, CONTINUES_WORDS = -0.3, -1.6, 6.0, 3.5
CONTINUES_HELD = 1.5
# A message with fewer distinctive words continues what was said, if its meaning is not known.
OWN_WORDS_MIN = 4

# -- Greetings, thanks and names.

# A message of at most so many words stands alone. A word is an aside if at least so many messages with it, and at least
# this share of them, stand alone or address somebody by it.
ALONE_WORDS_MAX, SOCIAL_MIN, SOCIAL_SHARE = 3, 2, 0.5

# -- Grouping the messages of a space.

# The weight of meaning; that of words is 1.
GROUP_MEANING = 0.3
# About how similar in meaning two texts are by chance; and the weight of the share of repeated words.
GROUP_CHANCE, GROUP_REPEATED = 0.1, 4.0
# How many messages ahead are looked at, and the weight of the next one's similarity to them.
GROUP_COMING, GROUP_AHEAD = 3, 0.3
# A chat is cut if the next message is more similar than by chance by less than this; the bound is higher after a pause.
GROUP_CUT, GROUP_PAUSE = 0.4, 1.0
# Two pieces are about the same thing if their similarity is at least this share of the similarity within each; for two
# groups, about which more is known, less is enough.
SAME_PIECES, SAME_GROUPS = 0.45, 0.15
# A word's weight is this power of its rarity among groups: words of every conversation hardly count, in any language.
GROUP_RARITY = 3
# From so many pairs on, the similarity within a piece is taken as known; before, that of other pieces counts too.
GROUP_PAIRS_KNOWN = 6.0
# Similarity by chance is measured between messages of different pieces; with fewer pairs than this it counts less.
GROUP_PAIRS_APART = 100.0
# Messages with a smaller share of known common words are in a language that has no list of them.
GROUP_KNOWN_LANGUAGE = 0.25
# The cost of leaving a group, in messages that fit another one as well as its own fit; and the lower cost after a
# pause.
GROUP_LEAVING, GROUP_LEAVING_LATER = 1.0, 0.5
GROUP_LEAST, GROUP_MOST, GROUP_ALONE = -0.5, 3.0, 0.3
# How often messages are assigned to groups: each round shows more clearly what a group is about, and which words set it
# apart.
GROUP_ROUNDS = 3

# -- Naming topics.

# A name lasts until a topic has so many times the messages that it was named by, or some of them go elsewhere.
RENAMED_AT = 2
