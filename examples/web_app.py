"""A web app with many users and one store; nobody sees the memories of another.

    pip install . fastapi uvicorn
    uvicorn --app-dir examples web_app:app
    curl -H "Authorization: Bearer ann-token" -d '{"text": "I am allergic to nuts"}' \
        -H "Content-Type: application/json" http://127.0.0.1:8000/memories

The store is opened once, when the app starts. Each request gets a view of its user's memories,
which costs microseconds. http://127.0.0.1:8000/docs lets you try it.
"""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Annotated

from fastapi import Depends, FastAPI, HTTPException, Request
from fastapi.responses import JSONResponse
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer
from pydantic import BaseModel, Field

from memory_mesh import MemoryMesh
from memory_mesh.model.errors import InvalidInput, NotFound

USERS = {"ann-token": "ann", "ben-token": "ben"}  # stands for your own sign-in


class Said(BaseModel):
    """What a user sends."""

    text: str = Field(min_length=1, max_length=10_000)


@asynccontextmanager
async def opened(app: FastAPI) -> AsyncIterator[None]:
    """Keep one store open as long as the app runs."""
    async with MemoryMesh() as mesh:  # MEMORY_MESH_DIR says where, as on the command line
        app.state.mesh = mesh
        yield


def signed_in(
    request: Request, token: Annotated[HTTPAuthorizationCredentials, Depends(HTTPBearer())]
) -> MemoryMesh:
    """The memories of who asks. The user comes from the sign-in, never from the request's text."""
    user = USERS.get(token.credentials)
    if user is None:
        raise HTTPException(401, "Unknown token")
    mesh: MemoryMesh = request.app.state.mesh
    return mesh.for_user(user)


Mine = Annotated[MemoryMesh, Depends(signed_in)]
app = FastAPI(title="Remember me", lifespan=opened)


@app.post("/memories", status_code=201)
async def remember(said: Said, mine: Mine) -> dict[str, str]:
    """Store a memory."""
    receipt = await mine.add(said.text, role="user")
    if receipt.id is None:
        raise HTTPException(422, "; ".join(receipt.reasons))
    return {"id": receipt.id}


@app.get("/memories")
async def recall(q: str, mine: Mine, limit: int = 5) -> list[dict[str, str | float]]:
    """Find memories, best first."""
    hits = await mine.search(q, limit=limit)
    return [{"id": hit.id, "text": hit.content, "score": round(hit.score, 2)} for hit in hits]


@app.delete("/memories/{memory_id}", status_code=204)
async def forget(memory_id: str, mine: Mine) -> None:
    """Delete a memory; it can be restored for 30 days."""
    await mine.delete(memory_id)


@app.post("/chat")
async def chat(said: Said, mine: Mine) -> dict[str, str]:
    """Answer with what is known about this user, and remember what the user said."""
    pack = await mine.context(said.text, max_tokens=500)
    answer = model(f"{pack}\n\n{said.text}")
    await mine.add(said.text, role="user")
    return {"answer": answer}


def model(prompt: str) -> str:
    """Stands for your language model, so that the example needs no key: it repeats the prompt."""
    return prompt


@app.exception_handler(NotFound)
async def not_found(_: Request, error: NotFound) -> JSONResponse:
    """Answer 404 for an unknown id; another user's id is unknown, too."""
    return JSONResponse({"detail": str(error)}, 404)


@app.exception_handler(InvalidInput)
async def invalid(_: Request, error: InvalidInput) -> JSONResponse:
    """Answer 422 with what is wrong."""
    return JSONResponse({"detail": str(error)}, 422)
