"""The pages, in the order of the navigation; each module says its routes."""

from memory_mesh.dashboard.asked import PageRoute
from memory_mesh.dashboard.pages import memories, one_memory, why

ROUTES: tuple[PageRoute, ...] = (*why.ROUTES, *memories.ROUTES, *one_memory.ROUTES)
