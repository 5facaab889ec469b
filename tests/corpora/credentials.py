"""Secrets in the forms their issuers describe: prefix, alphabet and length."""

import base64
import json
import string
from collections.abc import Callable, Iterator, Mapping
from random import Random

from tests.corpora.value import Value

PER_FORMAT = 20
ALNUM, HEX, UPPER = string.ascii_letters + string.digits, "0123456789abcdef", string.ascii_uppercase
BASE32, BASE64, URLSAFE = UPPER + "234567", ALNUM + "+/", ALNUM + "-_"
LOGINS = ("admin", "svc_app", "root", "reader")
Maker = Callable[[Random], str]


def credentials(rng: Random) -> Iterator[Value]:
    """Every kind of secret, in the order of the documented table."""
    for kind, makers in FORMATS.items():
        for turn in range(max(PER_FORMAT, 6 * len(makers))):
            yield Value(kind, makers[turn % len(makers)](rng))
    for kind, (make, leads) in IN_CONTEXT.items():
        for _ in range(PER_FORMAT):
            yield Value(kind, make(rng), leads)
    for turn in range(30):
        raw = _private_key(rng)
        yield Value("private_key", raw if turn % 3 else raw.replace("\n", "\\n"), block=True)
    for _ in range(160):
        yield Value("secret", _password(rng), (rng.choice(ASSIGNMENTS),))


def _some(rng: Random, alphabet: str, count: int, most: int = 0) -> str:
    return "".join(rng.choice(alphabet) for _ in range(rng.randint(count, most or count)))


def _after(prefix: str, alphabet: str, count: int, most: int = 0, end: str = "") -> Maker:
    return lambda rng: prefix + _some(rng, alphabet, count, most) + end


def _jwt(rng: Random) -> str:
    head = {"alg": rng.choice(["HS256", "RS256", "ES256"]), "typ": "JWT"}
    body = {"sub": str(rng.randrange(10**9)), "iat": 1_700_000_000 + rng.randrange(10**7)}
    return ".".join([_encoded(head), _encoded(body), _some(rng, URLSAFE, 43, 86)])


def _encoded(value: Mapping[str, object]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def _private_key(rng: Random) -> str:
    name = rng.choice(["RSA ", "EC ", "OPENSSH ", "", "ENCRYPTED ", "DSA "])
    lines = [_some(rng, BASE64, 64) for _ in range(rng.randint(3, 12))]
    body = "\n".join([*lines, _some(rng, BASE64, 10, 40) + "=="])
    dashes = "-----"  # in two pieces, so that no scanner takes this file for a leak
    return f"{dashes}BEGIN {name}PRIVATE KEY{dashes}\n{body}\n{dashes}END {name}PRIVATE KEY{dashes}"


def _openai(rng: Random) -> str:
    return f"sk-{_some(rng, ALNUM, 20)}T3BlbkFJ{_some(rng, ALNUM, 20)}"


def _openai_project(rng: Random) -> str:
    kind = rng.choice(["proj", "svcacct", "admin"])
    return f"sk-{kind}-{_some(rng, URLSAFE, 73)}AT3BlbkFJ{_some(rng, URLSAFE, 73)}A"


def _github_fine(rng: Random) -> str:
    return f"github_pat_{_some(rng, ALNUM, 22)}_{_some(rng, ALNUM, 59)}"


def _slack(rng: Random) -> str:
    numbers = "-".join(_some(rng, string.digits, 10, 12) for _ in range(rng.choice([2, 2, 3])))
    return f"xox{rng.choice('bpare')}-{numbers}-{_some(rng, ALNUM, 24)}"


def _slack_app(rng: Random) -> str:
    app, number = _some(rng, UPPER + string.digits, 10), _some(rng, string.digits, 13)
    return f"xapp-1-A{app}-{number}-{_some(rng, HEX, 64)}"


def _slack_webhook(rng: Random) -> str:
    team, channel = (letter + _some(rng, UPPER + string.digits, 8, 10) for letter in "TB")
    return f"https://hooks.slack.com/services/{team}/{channel}/{_some(rng, ALNUM, 24)}"


def _discord(rng: Random) -> str:
    who = rng.choice("MNO") + _some(rng, ALNUM, 23, 25)
    return f"{who}.{_some(rng, URLSAFE, 6)}.{_some(rng, URLSAFE, 27, 38)}"


def _discord_webhook(rng: Random) -> str:
    number = _some(rng, "123456789", 18, 19)
    return f"https://discord.com/api/webhooks/{number}/{_some(rng, URLSAFE, 68)}"


def _telegram(rng: Random) -> str:
    return f"{_some(rng, '123456789', 8, 10)}:AA{_some(rng, URLSAFE, 33)}"


def _sendgrid(rng: Random) -> str:
    return f"SG.{_some(rng, URLSAFE, 22)}.{_some(rng, URLSAFE, 43)}"


def _azure_client(rng: Random) -> str:
    return f"{_some(rng, ALNUM, 3)}{rng.randrange(10)}Q~{_some(rng, ALNUM + '-_.~', 31, 34)}"


def _vault(rng: Random) -> str:
    return f"hvs.{_some(rng, URLSAFE, 90, 110)}"


def _airtable(rng: Random) -> str:
    return f"pat{_some(rng, ALNUM, 14)}.{_some(rng, HEX, 64)}"


def _mailchimp(rng: Random) -> str:
    return f"{_some(rng, HEX, 32)}-us{rng.randrange(1, 22)}"


def _terraform(rng: Random) -> str:
    return f"{_some(rng, ALNUM, 14)}.atlasv1.{_some(rng, URLSAFE, 67)}"


FORMATS: dict[str, tuple[Maker, ...]] = {
    "jwt": (_jwt,),
    "aws_key": (_after("AKIA", BASE32, 16), _after("ASIA", BASE32, 16)),
    "gcp_key": (_after("AIza", URLSAFE, 35),),
    "google_oauth": (_after("GOCSPX-", URLSAFE, 28), _after("ya29.", URLSAFE, 68, 150)),
    "azure_client": (_azure_client,),
    "github": (
        *(_after(f"gh{letter}_", ALNUM, 36) for letter in "pousr"),
        _github_fine,
    ),
    "gitlab": tuple(
        _after(prefix, URLSAFE, 20) for prefix in ("glpat-", "gldt-", "glrt-", "glptt-", "glsoat-")
    ),
    "slack": (_slack, _slack_app),
    "slack_webhook": (_slack_webhook,),
    "openai": (_openai, _openai_project),
    "anthropic": (
        _after("sk-ant-api03-", URLSAFE, 93, end="AA"),
        _after("sk-ant-admin01-", URLSAFE, 93, end="AA"),
    ),
    "stripe": tuple(
        _after(prefix, ALNUM, 24, 99)
        for prefix in (
            "sk_live_",
            "rk_live_",
            "sk_test_",
            "rk_prod_",
            "whsec_",
        )
    ),
    "npm": (_after("npm_", ALNUM, 36),),
    "pypi": (_after("pypi-AgEIcHlwaS5vcmc", URLSAFE, 100, 160),),
    "huggingface": (_after("hf_", string.ascii_letters, 34),),
    "sendgrid": (_sendgrid,),
    "twilio": (_after("SK", HEX, 32),),
    "telegram": (_telegram,),
    "discord": (_discord, _discord_webhook),
    "digitalocean": tuple(_after(prefix, HEX, 64) for prefix in ("dop_v1_", "doo_v1_", "dor_v1_")),
    "shopify": tuple(
        _after(prefix, HEX, 32) for prefix in ("shpat_", "shpss_", "shpca_", "shppa_")
    ),
    "databricks": (_after("dapi", HEX, 32),),
    "mailgun": (_after("key-", HEX, 32),),
    "mailchimp": (_mailchimp,),
    "vault": (_vault,),
    "terraform": (_terraform,),
    "airtable": (_airtable,),
    "groq": (_after("gsk_", ALNUM, 52),),
    "replicate": (_after("r8_", ALNUM, 37),),
    "perplexity": (_after("pplx-", ALNUM, 48),),
    "xai": (_after("xai-", ALNUM, 80),),
    "notion": (_after("ntn_", ALNUM, 46),),
    "linear": (_after("lin_api_", ALNUM, 40),),
    "figma": (_after("figd_", URLSAFE, 40),),
    "grafana": (_after("glsa_", ALNUM, 32, end="_0a1b2c3d"),),
    "newrelic": (_after("NRAK-", UPPER + string.digits, 27),),
    "postman": (_after("PMAK-", HEX, 24, end="-" + "0a1b2c3d4e5f60718293a4b5c6d7e8f901"),),
    "pulumi": (_after("pul-", HEX, 40),),
    "sentry": (_after("sntryu_", HEX, 64),),
    "supabase": (_after("sbp_", HEX, 40),),
    "rubygems": (_after("rubygems_", HEX, 48),),
    "dockerhub": (_after("dckr_pat_", URLSAFE, 27),),
    "doppler": (_after("dp.pt.", ALNUM, 43),),
    "planetscale": (_after("pscale_tkn_", URLSAFE, 43),),
    "atlassian": (_after("ATATT3xFfGF0", URLSAFE, 170, 180),),
    "age": (_after("AGE-SECRET-KEY-1", "QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58),),
}
IN_CONTEXT: dict[str, tuple[Maker, tuple[str, ...]]] = {
    "aws_secret": (
        _after("", BASE64, 40),
        (
            "aws_secret_access_key = §",
            "AWS_SECRET_ACCESS_KEY=§",
            '"SecretAccessKey": "§",',
            "export AWS_SECRET_ACCESS_KEY='§'",
        ),
    ),
    "azure_key": (
        _after("", BASE64, 86, end="=="),
        (
            "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=§;EndpointSuffix=core.net",
            "AccountKey=§",
            "Endpoint=sb://acme.servicebus.net/;SharedAccessKeyName=Root;SharedAccessKey=§",
        ),
    ),
    "azure_sas": (
        _after("", ALNUM, 43, end="%3D"),
        (
            "https://acme.blob.core.windows.net/c/f.txt?sr=b&sig=§&se=2026-01-01",
            "?sv=2022-11-02&ss=b&srt=o&sp=r&se=2026-01-01T00%3A00Z&sig=§",
        ),
    ),
    "twilio": (
        _after("", HEX, 32),
        ("TWILIO_AUTH_TOKEN=§", 'twilio.auth_token: "§"', "Twilio auth token: §"),
    ),
    "google_oauth": (
        _after("1//0", URLSAFE, 60, 100),
        ("refresh_token=§", '{"refresh_token": "§"}', "the Google refresh token is §"),
    ),
    "bearer": (
        _after("", URLSAFE + ".", 24, 120, end="k"),
        (
            "Authorization: Bearer §",
            "curl -H 'Authorization: Bearer §' https://api.acme.dev",
            'headers = {"Authorization": "Bearer §"}',
            "it sends bearer § in every request",
            "Authorization: token §",
        ),
    ),
    "basic_auth": (
        lambda rng: base64.b64encode(f"user:{_some(rng, ALNUM, 12, 20)}".encode()).decode(),
        ("Authorization: Basic §", "-H 'authorization: Basic §'"),
    ),
    "url_login": (
        lambda rng: rng.choice(LOGINS) + ":" + _some(rng, ALNUM + "!*-._", 6, 24),
        (
            "postgres://§@db.acme.dev:5432/app",
            "git clone https://§@git.acme.dev/app.git",
            "REDIS_URL=redis://§@cache:6379/0",
            "“mongodb+srv://§@cluster0.acme.mongodb.net/test”",
            "amqp://§@10.0.0.4/vhost",
        ),
    ),
}
ASSIGNMENTS = (
    "password=§",
    "password: §",
    "PASSWORD='§'",
    'password = "§"',
    "DB_PASSWORD=§",
    "export API_KEY=§",
    'api_key="§"',
    '{"password": "§"}',
    '{"client_secret":"§","id":1}',
    "client_secret: '§'",
    "secret_key => '§'",
    "'secret' => '§',",
    "the password is §",
    "My password is §.",
    "passwd=§",
    "pwd: §",
    "--password §",
    "--token=§",
    "access_token=§",
    "auth_token: §",
    "apiKey: '§',",
    "X-Api-Key: §",
    "https://api.acme.dev/v1?api_key=§&page=2",
    "https://api.acme.dev/v1?access_token=§",
    "jdbc:postgresql://db/app?user=app&password=§",
    "密码是§",
    "密码：§",
    "パスワードは§です",
    "el password es: §",
    "Passwort: §",
    "mot de passe : §",
    "contraseña: §",
    "пароль: §",
    "비밀번호: §",
    "login with password `§`",
    "passphrase: §",
    "SECRET_KEY = '§'",
    "set the secret to §",
)


def _password(rng: Random) -> str:
    word = rng.choice(["tiger", "Winter", "hunter", "Blue", "correct", "Xk", "sommer", "p4ss"])
    return rng.choice(
        [
            word + _some(rng, string.digits, 3, 5) + rng.choice("!#$%*+-_"),
            _some(rng, ALNUM, 10, 24) + rng.choice(string.digits),
            f"{word}-{_some(rng, string.ascii_lowercase, 5)}-{_some(rng, string.digits, 2)}",
            _some(rng, HEX, 32),
        ]
    )
