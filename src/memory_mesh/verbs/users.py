"""Methods refuse options that they do not have, and say which was meant."""

from functools import wraps

from memory_mesh.policy.users import refuse_user_option
from memory_mesh.typed import Any, TypeVar

Method = TypeVar("Method", bound="Any")
_TAKES_ANY, _IS_ASYNC = 0x08, 0x80  # of inspect, which is not loaded for them


def known_options(method: Method) -> Method:
    """Decorates a method: an option that it does not have is refused with a hint.

    Others' libraries take `user_id` with each call. Here it would separate nothing.
    """
    code = method.__code__
    known = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
    names = frozenset(known)

    def check(options: dict[str, object]) -> None:
        if names.issuperset(options):
            return
        refuse_user_option({name: options[name] for name in options if name not in names})
        if not code.co_flags & _TAKES_ANY:
            from memory_mesh.policy.option_names import unknown_option

            wrong = next(name for name in options if name not in names)
            called = method.__qualname__.removesuffix(".__init__")
            raise unknown_option(f"{called}()", wrong, known)

    if code.co_flags & _IS_ASYNC:

        @wraps(method)
        async def call_async(*arguments: object, **options: object) -> object:
            check(options)
            return await method(*arguments, **options)

        return call_async  # type: ignore[return-value]  # the same signature

    @wraps(method)
    def call(*arguments: object, **options: object) -> object:
        check(options)
        return method(*arguments, **options)

    return call  # type: ignore[return-value]  # the same signature
