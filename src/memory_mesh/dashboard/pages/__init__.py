"""The pages, in the order of the navigation; each module says its routes."""

from memory_mesh.dashboard.asked import PageRoute
from memory_mesh.dashboard.pages import health, inbox, memories, one_memory, told, why, working

ROUTES: tuple[PageRoute, ...] = (
    *why.ROUTES,
    *memories.ROUTES,
    *one_memory.ROUTES,
    *told.ROUTES,
    *inbox.ROUTES,
    *working.ROUTES,
    *health.ROUTES,
)
