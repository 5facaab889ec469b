"""Methods that take no user say so."""

from functools import wraps

from memory_mesh.policy.users import refuse_user_option
from memory_mesh.typed import Any, TypeVar

Method = TypeVar("Method", bound="Any")
_IS_ASYNC = 0x80  # inspect.CO_COROUTINE, without loading inspect


def names_no_user(method: Method) -> Method:
    """Decorates a method that takes no user: one given as an option is refused with a hint.

    Others' libraries take `user_id` with each call. Here it would separate nothing.
    """
    if method.__code__.co_flags & _IS_ASYNC:

        @wraps(method)
        async def call_async(*arguments: object, **options: object) -> object:
            refuse_user_option(options)
            return await method(*arguments, **options)

        return call_async  # type: ignore[return-value]  # the same signature

    @wraps(method)
    def call(*arguments: object, **options: object) -> object:
        refuse_user_option(options)
        return method(*arguments, **options)

    return call  # type: ignore[return-value]  # the same signature
