"""Words that negate a statement, and numbers written as words: what the cosine of word vectors does not see."""

from __future__ import annotations

_NEGATIONS = """
no not never none nothing nobody neither nor without cannot cant wont dont doesnt didnt isnt arent wasnt werent
shouldnt couldnt wouldnt mustnt hasnt havent hadnt aint hardly barely unless
nicht kein keine keinen keinem keiner nie niemals ohne nichts pas jamais sans ni nunca ninguna sin non mai senza
"""

# Not "one", which is mostly a pronoun.
_NUMERALS = """
zero 0, two 2, three 3, four 4, five 5, six 6, seven 7, eight 8, nine 9, ten 10, eleven 11, twelve 12,
hundred 100, thousand 1000, million 1000000, twice 2, thrice 3, half 0.5
"""

_OPPOSITES = """
always ever / never seldom
enable enables enabled enabling on / disable disables disabled disabling off
before / after
increase increases increased raise raises raised / decrease decreases decreased lower lowers lowered reduce reduces reduced
more / less fewer
above over / below under
allow allows allowed permit permits permitted / forbid forbids forbidden deny denies denied prohibit prohibits prohibited
true / false
safe safely / unsafe unsafely
success succeed succeeds succeeded pass passes passed / failure fail fails failed
minimum min least smallest / maximum max most largest
first / last
ascending / descending
synchronous synchronously sync / asynchronous asynchronously async
public / private
faster fast / slower slow
good best prefer preferred use / bad worst avoid avoided
add adds added / remove removes removed drop drops dropped
open opens opened / close closes closed
start starts started / stop stops stopped
valid / invalid
possible / impossible
required mandatory must / optional
same / different
left / right
up / down
read reads / write writes
mutable / immutable
blocking / nonblocking
include includes included including / exclude excludes excluded excluding leave
all every any each / some only none
works work working / fail fails failed breaks broken error wrong
accept accepts accepted / reject rejects rejected refuse refuses refused
permanent permanently / temporary temporarily
keep keeps kept / discard discards discarded remove removes removed delete deletes deleted drop drops dropped
automatic automatically itself / manual manually yourself hand
return returns returned / raise raises throw throws
once / again every each
daily / weekly monthly hourly
enough / need needs require requires must
rightly correctly / wrongly
older / newer
local / global
client / server
inside / outside
present / missing absent
"""

NEGATIONS = frozenset(_NEGATIONS.split())
NUMERALS: dict[str, str] = dict(pair.split() for pair in _NUMERALS.split(","))
# Pairs of opposites: a text with one and a text with the other cannot both be right.
OPPOSITES = tuple(
    (frozenset(one.split()), frozenset(other.split()))
    for one, other in (line.split("/") for line in _OPPOSITES.strip().splitlines())
)
