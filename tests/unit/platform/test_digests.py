"""The keyed digest is HMAC with SHA-256, as the standard library has it."""

import hmac

from hypothesis import given, strategies as st

from memory_mesh.base.digests import keyed_digest


@given(st.binary(max_size=200), st.binary(max_size=500))
def test_it_is_the_digest_of_the_standard_library(key: bytes, message: bytes) -> None:
    assert keyed_digest(key, message) == hmac.digest(key, message, "sha256")
