"""All built-in rules in the order they are tried: the longest and most certain first."""

from memory_mesh.policy.privacy.cards import CARDS
from memory_mesh.policy.privacy.commands import COMMAND_LINES
from memory_mesh.policy.privacy.cookies import COOKIES
from memory_mesh.policy.privacy.identities import IDENTITIES
from memory_mesh.policy.privacy.issuers import HEX_KEYS, ISSUERS, PRIVATE_KEYS
from memory_mesh.policy.privacy.logins import LOGINS, URL_LOGINS
from memory_mesh.policy.privacy.personal import PERSONAL
from memory_mesh.policy.privacy.phones import PHONES, national
from memory_mesh.policy.privacy.rule import Rule
from memory_mesh.policy.privacy.scan import Scanner
from memory_mesh.policy.privacy.spoken import SPOKEN

RULES: tuple[Rule, ...] = (
    *PRIVATE_KEYS,
    *URL_LOGINS,
    *ISSUERS,
    *COMMAND_LINES,
    *LOGINS,
    *COOKIES,
    *SPOKEN,
    *HEX_KEYS,
    *PERSONAL,
    *CARDS,
    *IDENTITIES,
    *PHONES,
)
SCANNER = Scanner(RULES)


def rules_for(country: str) -> tuple[Rule, ...]:
    """Returns the built-in rules and that for the phone numbers of one country."""
    return (*RULES, national(country))
