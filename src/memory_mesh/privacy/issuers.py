"""Rules for keys and tokens in their issuers' formats."""

import re

from memory_mesh.rules.privacy_rule import PrivacyRule, Span

# of a block without an end: what a key is written in, or a header of it, also in a quote or comment
_KEY_LINE = (
    r"[ \t]*(?:\r?\n|\\r|\\n)[ \t>|#*]*(?:[A-Z][A-Za-z-]{3,20}: [^\n]{1,200}"
    r"|[A-Za-z0-9+/=]+(?=\s*(?:\n|\\[rn]|\Z|[\"'`]))|(?=\r?\n|\\[rn]))"
    r"|[ \t]*[A-Za-z0-9+/=]{24,}"
)
_KEY_WORDS = r"(?:priv(?:ate)?|secret|signing|wallet)[ _-]?keys?(?![a-z])"
_BYTES = r"(?<![0-9a-z])(?P<value>(?:0x)?[0-9a-f]{64})(?![0-9a-z])"
_EDGE, _END = r"(?<![A-Za-z0-9])", r"(?![A-Za-z0-9])"


def private_key(text: str, start: int, stop: int) -> Span | None:
    """Finds a whole key block, or as much of a truncated one as looks like a key."""
    following = text.find("-----BEGIN", stop)
    end = text.find("-----END", stop, following if following >= 0 else len(text))
    if end >= 0:
        close = text.find("-----", end + 8)
        return start, close + 5 if 0 <= close <= end + 60 else end + 8
    while line := re.compile(_KEY_LINE).match(text, stop):
        stop = line.end()
    return start, start + len(text[start:stop].rstrip(" \t\r\n>|#*"))


def _key(name: str, label: str, hints: str, pattern: str, why: str) -> PrivacyRule:
    return PrivacyRule(
        name=name,
        label=label,
        hints=tuple(hints.split()),
        pattern=_EDGE + pattern + _END,
        why=why,
    )


PRIVATE_KEYS = (
    PrivacyRule(
        name="private_key",
        label="PRIVATE_KEY",
        hints=("private key",),
        pattern=r"-----BEGIN (?:[A-Z0-9]{1,12} ){0,3}PRIVATE KEY(?: BLOCK)?-----",
        check=private_key,
        why="the whole PEM, OpenSSH or PGP block, line ends real or escaped, also when cut off",
        example="the block of an RSA key, a service account's private_key",
    ),
    PrivacyRule(
        name="private_key",
        label="PRIVATE_KEY",
        hints=("ls0tls1crudjti",),
        pattern=(r"LS0tLS1CRUdJTi(?!BDRVJU|BQVUJM|BSU0EgUFVC)[A-Za-z0-9+/]{16,20000}={0,2}"),
        why="a PEM block in base64 that is no certificate and no public key",
        example="the client-key-data of a kubeconfig",
    ),
)
HEX_KEYS = (
    PrivacyRule(
        name="private_key",
        label="PRIVATE_KEY",
        gate="number",
        hints=("key", "wallet"),
        pattern=(
            rf"(?i)(?:{_KEY_WORDS}[^,;!?]{{0,40}}?"
            rf"|(?:(?<!pub)(?<!public)[ _-]key|wallet)\W{{1,4}}(?:is\W{{1,2}})?(?=0x)){_BYTES}"
        ),
        why="64 hexadecimal digits behind a word for a private key",
        example="private key 0x4c08…",
    ),
    PrivacyRule(
        name="private_key",
        label="PRIVATE_KEY",
        gate="number",
        hints=("key",),
        pattern=rf"(?i){_BYTES}[^,;!?\n]{{0,24}}{_KEY_WORDS}",
        why="64 hexadecimal digits before a word for a private key",
        example="0x4c08… is my private key",
    ),
)
ISSUERS = (
    PrivacyRule(
        name="jwt",
        label="JWT",
        hints=("eyj",),
        pattern=r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{10,}",
        why="three parts joined by dots, the first an encoded JSON object",
    ),
    _key(
        "aws_key",
        "AWS_KEY",
        "akia asia abia acca",
        r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}",
        "AWS access key id",
    ),
    PrivacyRule(
        name="aws_secret",
        label="AWS_SECRET",
        hints=("secret_access_key", "secretaccesskey"),
        pattern=(
            r"(?i:secret_?access_?key)[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
            r"(?P<value>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/])"
        ),
        why="AWS secret key, after its name",
    ),
    PrivacyRule(
        name="aws_secret",
        label="AWS_SECRET",
        hints=("akia", "asia"),
        pattern=(
            r"(?:AKIA|ASIA)[A-Z2-7]{16}(?![A-Za-z0-9])[\s\S]{1,40}?(?<![A-Za-z0-9+/])"
            r"(?P<value>[A-Za-z0-9+/]{40})(?![A-Za-z0-9+/])"
        ),
        why="AWS secret key, soon after its access key id",
    ),
    _key("gcp_key", "GCP_KEY", "aiza", r"AIza[A-Za-z0-9_-]{35}(?![_-])", "Google API key"),
    _key(
        "google_oauth",
        "GOOGLE_TOKEN",
        "gocspx- ya29. 1//0",
        r"(?:GOCSPX-[A-Za-z0-9_-]{28}|ya29\.[A-Za-z0-9_-]{30,400}|1//0[A-Za-z0-9_-]{40,200})",
        "Google OAuth client secret, access token, refresh token",
    ),
    _key(
        "azure_client",
        "AZURE_SECRET",
        "q~",
        r"[A-Za-z0-9_~.-]{3}[0-9]Q~[A-Za-z0-9_~.-]{31,34}",
        "Azure client secret",
    ),
    PrivacyRule(
        name="azure_key",
        label="AZURE_KEY",
        hints=("accountkey", "accesskey"),
        pattern=r"(?i:AccountKey|SharedAccessKey)=(?P<value>[A-Za-z0-9+/]{40,88}={0,2})",
        why="the key in a storage, service bus or event hub connection string",
    ),
    PrivacyRule(
        name="azure_sas",
        label="AZURE_SIGNATURE",
        hints=("sig=",),
        pattern=r"(?<![A-Za-z0-9_])sig=(?P<value>[A-Za-z0-9%+/]{40,80}(?:=|%3[Dd])?)",
        why="the signature of a shared access URL",
    ),
    _key(
        "github",
        "GITHUB_TOKEN",
        "ghp_ gho_ ghu_ ghs_ ghr_ github_pat_",
        r"(?:gh[pousr]_[A-Za-z0-9]{36,251}|github_pat_[A-Za-z0-9]{22}_[A-Za-z0-9]{59})",
        "GitHub token, classic or fine-grained",
    ),
    _key(
        "gitlab",
        "GITLAB_TOKEN",
        "glpat- gldt- glrt- glptt- glsoat- glcbt- glft- glimt- glagent-",
        r"gl(?:pat|dt|rt|ptt|soat|cbt|ft|imt|agent)-[A-Za-z0-9_-]{20,64}(?:\.[A-Za-z0-9.]{2,40})?",
        "GitLab token",
    ),
    _key(
        "slack",
        "SLACK_TOKEN",
        "xox xapp-",
        r"(?:xox[a-z](?:\.xox[bp])?-[A-Za-z0-9-]{20,250}|xapp-[0-9]-[A-Za-z0-9-]{40,150})",
        "Slack token",
    ),
    _key(
        "slack_webhook",
        "SLACK_WEBHOOK",
        "hooks.slack.com",
        r"https://hooks\.slack\.com/(?:services|workflows|triggers)/[A-Za-z0-9+/]{20,100}",
        "Slack webhook URL",
    ),
    _key("anthropic", "ANTHROPIC_KEY", "sk-", r"sk-ant-[A-Za-z0-9_-]{32,140}", "Anthropic key"),
    _key(
        "openai",
        "OPENAI_KEY",
        "sk-",
        r"sk-(?:(?:proj|svcacct|admin|or-v1)-[A-Za-z0-9_-]{20,200}|[A-Za-z0-9]{20,64})",
        "OpenAI key, and others that took its form",
    ),
    _key(
        "stripe",
        "STRIPE_KEY",
        "sk_ rk_ whsec_",
        r"(?:[sr]k_(?:live|test|prod|dev|stag(?:e|ing)|sandbox)_[A-Za-z0-9]{16,250}"
        r"|whsec_[A-Za-z0-9+/=]{24,100})",
        "Stripe secret or restricted key, and others that took its form; webhook secret",
    ),
    _key("npm", "NPM_TOKEN", "npm_", r"npm_[A-Za-z0-9]{36}", "npm token"),
    _key("pypi", "PYPI_TOKEN", "pypi-", r"pypi-AgE[A-Za-z0-9_-]{50,400}", "PyPI token"),
    _key("huggingface", "HF_TOKEN", "hf_", r"hf_[A-Za-z0-9]{30,40}", "Hugging Face token"),
    _key(
        "sendgrid",
        "SENDGRID_KEY",
        "sg.",
        r"SG\.[A-Za-z0-9_-]{16,32}\.[A-Za-z0-9_-]{32,64}",
        "SendGrid key",
    ),
    PrivacyRule(
        name="twilio",
        label="TWILIO_KEY",
        gate="number",
        hints=("sk",),
        pattern=_EDGE + "SK[0-9a-f]{32}" + _END,
        why="Twilio API key",
    ),
    PrivacyRule(
        name="twilio",
        label="TWILIO_TOKEN",
        gate="number",
        hints=("twilio",),
        pattern=(
            r"(?i:twilio)[^\n]{0,24}?(?i:auth[_ -]?token)[\"']?\s{0,3}[:=]\s{0,3}[\"']?"
            r"(?P<value>[0-9a-f]{32})(?![0-9a-f])"
        ),
        why="Twilio auth token, after its name",
    ),
    _key(
        "telegram",
        "TELEGRAM_TOKEN",
        ":aa",
        r"[0-9]{8,10}:AA[A-Za-z0-9_-]{32,34}(?![_-])",
        "Telegram bot token",
    ),
    _key(
        "discord",
        "DISCORD_WEBHOOK",
        "/api/webhooks/",
        r"https://(?:[a-z]{2,8}\.)?discord(?:app)?\.com/api/webhooks/[0-9]{15,20}/[A-Za-z0-9_-]{60,80}",
        "Discord webhook URL",
    ),
    PrivacyRule(
        name="discord",
        label="DISCORD_TOKEN",
        gate="long word",
        pattern=r"(?<![A-Za-z0-9_.-])[MNO][A-Za-z0-9_-]{22,27}\.[A-Za-z0-9_-]{6}\.[A-Za-z0-9_-]{27,40}(?![A-Za-z0-9_-])",
        why="Discord bot token",
    ),
    _key(
        "digitalocean",
        "DIGITALOCEAN_TOKEN",
        "dop_v1_ doo_v1_ dor_v1_",
        r"do[opr]_v1_[0-9a-f]{64}",
        "DigitalOcean token",
    ),
    _key(
        "shopify",
        "SHOPIFY_TOKEN",
        "shpat_ shpss_ shpca_ shppa_",
        r"shp(?:at|ss|ca|pa)_[0-9a-fA-F]{32}",
        "Shopify token",
    ),
    _key(
        "databricks", "DATABRICKS_TOKEN", "dapi", r"dapi[0-9a-f]{32}(?:-[0-9])?", "Databricks token"
    ),
    _key("mailgun", "MAILGUN_KEY", "key-", r"key-[0-9a-f]{32}", "Mailgun key"),
    _key("mailchimp", "MAILCHIMP_KEY", "-us", r"[0-9a-f]{32}-us[0-9]{1,2}", "Mailchimp key"),
    _key(
        "vault",
        "VAULT_TOKEN",
        "hvs. hvb.",
        r"hv[sb]\.[A-Za-z0-9_-]{24,300}",
        "HashiCorp Vault token",
    ),
    _key(
        "terraform",
        "TERRAFORM_TOKEN",
        ".atlasv1.",
        r"[A-Za-z0-9]{14}\.atlasv1\.[A-Za-z0-9_-]{60,75}",
        "HCP Terraform token",
    ),
    PrivacyRule(
        name="airtable",
        label="AIRTABLE_TOKEN",
        gate="number",
        hints=("pat",),
        digits=12,
        pattern=_EDGE + r"pat[A-Za-z0-9]{14}\.[0-9a-f]{64}" + _END,
        why="Airtable token",
    ),
    _key("groq", "GROQ_KEY", "gsk_", r"gsk_[A-Za-z0-9]{40,60}", "Groq key"),
    _key("replicate", "REPLICATE_TOKEN", "r8_", r"r8_[A-Za-z0-9]{37}", "Replicate token"),
    _key("perplexity", "PERPLEXITY_KEY", "pplx-", r"pplx-[A-Za-z0-9]{40,60}", "Perplexity key"),
    _key("xai", "XAI_KEY", "xai-", r"xai-[A-Za-z0-9]{70,90}", "xAI key"),
    _key("notion", "NOTION_TOKEN", "ntn_", r"ntn_[A-Za-z0-9]{40,50}", "Notion token"),
    _key("linear", "LINEAR_KEY", "lin_api_", r"lin_api_[A-Za-z0-9]{40}", "Linear key"),
    _key("figma", "FIGMA_TOKEN", "figd_", r"figd_[A-Za-z0-9_-]{38,50}", "Figma token"),
    _key(
        "grafana",
        "GRAFANA_TOKEN",
        "glsa_",
        r"glsa_[A-Za-z0-9]{32}_[0-9a-f]{8}",
        "Grafana service account token",
    ),
    _key("newrelic", "NEWRELIC_KEY", "nrak-", r"NRAK-[A-Z0-9]{27}", "New Relic user key"),
    _key("postman", "POSTMAN_KEY", "pmak-", r"PMAK-[0-9a-f]{24}-[0-9a-f]{34}", "Postman key"),
    _key("pulumi", "PULUMI_TOKEN", "pul-", r"pul-[0-9a-f]{40}", "Pulumi token"),
    _key(
        "sentry",
        "SENTRY_TOKEN",
        "sntryu_ sntrys_",
        r"(?:sntryu_[0-9a-f]{64}|sntrys_[A-Za-z0-9_+/=-]{40,400})",
        "Sentry token",
    ),
    _key("supabase", "SUPABASE_TOKEN", "sbp_", r"sbp_[0-9a-f]{40}", "Supabase token"),
    _key("rubygems", "RUBYGEMS_KEY", "rubygems_", r"rubygems_[0-9a-f]{48}", "RubyGems key"),
    _key(
        "dockerhub",
        "DOCKER_TOKEN",
        "dckr_pat_",
        r"dckr_pat_[A-Za-z0-9_-]{27}(?![_-])",
        "Docker Hub token",
    ),
    _key("doppler", "DOPPLER_TOKEN", "dp.pt.", r"dp\.pt\.[A-Za-z0-9]{40,44}", "Doppler token"),
    _key(
        "planetscale",
        "PLANETSCALE_TOKEN",
        "pscale_tkn_ pscale_oauth_",
        r"pscale_(?:tkn|oauth)_[A-Za-z0-9_.-]{32,64}",
        "PlanetScale token",
    ),
    _key(
        "atlassian",
        "ATLASSIAN_TOKEN",
        "atatt3",
        r"ATATT3[A-Za-z0-9_=-]{100,250}",
        "Atlassian token",
    ),
    _key(
        "age",
        "AGE_KEY",
        "age-secret-key-1",
        r"AGE-SECRET-KEY-1[QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L]{58}",
        "age secret key",
    ),
)
