"""All built-in rules in the order they are tried: the longest and most certain first."""

from memory_mesh.privacy.cards import CARDS
from memory_mesh.privacy.identities import IDENTITIES, PERSONAL
from memory_mesh.privacy.issuers import HEX_KEYS, ISSUERS, PRIVATE_KEYS
from memory_mesh.privacy.logins import COMMAND_LINES, COOKIES, LOGINS, URL_LOGINS
from memory_mesh.privacy.phones import PHONES, national
from memory_mesh.privacy.scan import Scanner
from memory_mesh.privacy.spoken import SPOKEN
from memory_mesh.rules.privacy_rule import PrivacyRule

RULES: tuple[PrivacyRule, ...] = (
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


def rules_for(country: str) -> tuple[PrivacyRule, ...]:
    """Returns the built-in rules and that for the phone numbers of one country."""
    return (*RULES, national(country))
