"""People sign in at a real OpenID provider (oidc-provider-mock), with the official MCP client."""

import base64
import json
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit
from urllib.request import urlopen

import anyio
import httpx2
import pytest
from mcp.client.auth import OAuthClientProvider
from mcp.client.session import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp.shared.auth import (
    AuthorizationCodeResult,
    OAuthClientInformationFull,
    OAuthClientMetadata,
    OAuthToken,
)

from memory_mesh.model import InvalidInput, NotAllowed
from memory_mesh.server.sign_in import Issuer, SignIn
from tests.surface.serving import Served, served

pytestmark = pytest.mark.filterwarnings("ignore")  # the provider warns of what it uses itself
BACK = "http://localhost:9/back"
GRANTS = {"*": {"news": "reader"}, "eng": {"team": "editor", "news": "editor"}}


@pytest.fixture(scope="module")
def provider() -> Iterator[str]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("AUTHLIB_INSECURE_TRANSPORT", "1")
        from oidc_provider_mock import User, run_server_in_thread

        people = (
            User(sub="ann", claims={"groups": ["eng"]}),
            User(sub="bea", claims={}),
            User(sub="*", claims={}),
        )
        with run_server_in_thread(user_claims=people) as server:
            yield f"http://localhost:{server.server_port}"


@pytest.fixture(scope="module")
def service(provider: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    def issuer(url: str) -> Issuer:
        return Issuer(provider, url, audience="memory", grants=GRANTS, asks=True)

    with served(tmp_path_factory.mktemp("signing"), issuer=issuer, embedder="none") as found:
        yield found


def signed_in(provider: str, who: str, client: str = "memory") -> dict[str, Any]:
    """What the token endpoint hands out to somebody who signed in."""
    asked = {
        "client_id": client,
        "redirect_uri": BACK,
        "response_type": "code",
        "scope": "openid",
        "state": "s",
    }
    page = httpx2.post(f"{provider}/oauth2/authorize", params=asked, data={"sub": who})
    code = parse_qs(urlsplit(page.headers["location"]).query)["code"][0]
    given = {"grant_type": "authorization_code", "code": code, "redirect_uri": BACK}
    found: dict[str, Any] = httpx2.post(
        f"{provider}/oauth2/token", data=given, auth=(client, "secret")
    ).json()
    return found


def test_a_person_has_their_own_memories_and_what_their_groups_may(
    service: Served, provider: str
) -> None:
    service.behind.view(namespace="news").add("The office moves to Oslo")
    ann = service.mesh(signed_in(provider, "ann")["id_token"])
    bea = service.mesh(signed_in(provider, "bea")["id_token"])
    assert ann.add("Ann prefers tea", source_kind="user_explicit").id
    assert [one.text for one in service.behind.for_user("ann").get_all()] == ["Ann prefers tea"]
    assert bea.get_all() == []
    assert ann.view(namespace="team").add("Standup is at nine").id
    assert bea.view(namespace="news").search("Where does the office move?")
    for refused in (
        lambda: bea.view(namespace="news").add("No"),
        lambda: bea.view(namespace="team").get_all(),
        lambda: bea.for_user("ann").get_all(),
        ann.care.access_keys.get_all,
    ):
        with pytest.raises(NotAllowed, match="may not"):
            refused()


def test_a_token_that_is_not_ours_opens_nothing(service: Served, provider: str) -> None:
    good = signed_in(provider, "ann")["id_token"]
    head, body, signature = good.split(".")
    none = base64.urlsafe_b64encode(b'{"alg":"none"}').decode().rstrip("=")
    claims = json.loads(base64.urlsafe_b64decode(f"{body}=="))
    forged = base64.urlsafe_b64encode(json.dumps(claims | {"sub": "bea"}).encode()).decode()
    for token in (
        signed_in(provider, "ann", client="another")["id_token"],  # for somebody else
        signed_in(provider, "*")["id_token"],  # the name of every user
        signed_in(provider, "*")["access_token"],
        f"{none}.{body}.",
        f"{head}.{forged.rstrip('=')}.{signature}",
        f"{head}.{body}.{signature[:-4]}AAAA",
        "opaque-and-unknown",
    ):
        with pytest.raises(NotAllowed, match="needs a key"):
            service.mesh(token).get("mem_none")


def test_only_an_issuer_that_is_asked_knows_other_tokens(service: Served, provider: str) -> None:
    token = signed_in(provider, "ann")["access_token"]
    assert service.mesh(token).get("mem_none") is None
    assert SignIn(Issuer(provider, service.url)).key_of(token) is None
    with pytest.raises(InvalidInput, match="https"):
        SignIn(Issuer("http://issuer.example", service.url))
    with pytest.raises(InvalidInput, match="no role"):
        SignIn(Issuer(provider, service.url, grants={"*": {"team": "king"}}))


class Kept:
    """What the official client keeps of a sign-in."""

    tokens: OAuthToken | None = None
    client: OAuthClientInformationFull | None = None

    async def get_tokens(self) -> OAuthToken | None:
        return self.tokens

    async def set_tokens(self, tokens: OAuthToken) -> None:
        self.tokens = tokens

    async def get_client_info(self) -> OAuthClientInformationFull | None:
        return self.client

    async def set_client_info(self, client_info: OAuthClientInformationFull) -> None:
        self.client = client_info


def test_the_official_mcp_client_signs_in_by_what_the_service_says(
    service: Served, provider: str
) -> None:
    """It knows nothing but the address: 401, resource metadata, issuer, registration, code."""
    with urlopen(f"{service.url}/.well-known/oauth-protected-resource/mcp") as found:
        assert json.load(found)["authorization_servers"][0].rstrip("/") == provider
    landed: list[str] = []

    async def visit(url: str) -> None:
        async with httpx2.AsyncClient() as http:
            landed.append((await http.post(url, data={"sub": "ann"})).headers["location"])

    async def back() -> AuthorizationCodeResult:
        query = parse_qs(urlsplit(landed[-1]).query)
        return AuthorizationCodeResult(code=query["code"][0], state=query["state"][0])

    async def talk() -> Any:
        signing = OAuthClientProvider(
            f"{service.url}/mcp",
            OAuthClientMetadata(
                redirect_uris=[BACK],  # type: ignore[list-item]  # pydantic reads it
                token_endpoint_auth_method="client_secret_post",
                scope="openid",
            ),
            Kept(),
            visit,
            back,
        )
        async with (
            httpx2.AsyncClient(auth=signing) as http,
            streamable_http_client(f"{service.url}/mcp", http_client=http) as (reads, writes, *_),
            ClientSession(reads, writes) as session,
        ):
            await session.initialize()
            await session.call_tool("memory_store", {"content": "Ann sails on Sundays"})
            return (await session.call_tool("memory_search", {"query": "sails"})).structured_content

    assert [one["first_line"] for one in anyio.run(talk)["memories"]] == ["Ann sails on Sundays"]
    (kept,) = [one for one in service.behind.for_user("ann").get_all() if "sails" in one.text]
    assert kept.source.kind == "inference"  # an agent speaks, whoever signed in
