"""A port of this machine that a server of ours listens on."""

import ipaddress
import socket

from memory_mesh.model import NetworkError


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def bound(host: str, port: int) -> socket.socket:
    """A socket that listens; NetworkError says why there is none."""
    try:
        family, *_, address = socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        )[0]
        made = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)  # asyncio: TCP_NODELAY
        try:
            made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            made.bind(address)
            made.listen()
        except OSError:
            made.close()
            raise
    except OSError as error:
        raise NetworkError(
            f"cannot listen on {host} port {port} ({error.strerror}); choose another with --port, "
            "or --port 0 for any that is free"
        ) from None
    return made
