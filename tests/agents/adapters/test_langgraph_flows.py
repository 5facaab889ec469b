"""LangGraph's own example flows on a `MeshStore`: memory across threads, tools, a ready agent."""

import asyncio
import uuid
from typing import Annotated, Any

from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_store
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import InjectedStore, ToolNode
from langgraph.store.base import BaseStore

from memory_mesh.agents.adapters.langgraph import MeshStore


def call_model(state: MessagesState, config: RunnableConfig, *, store: BaseStore) -> dict[str, Any]:
    """The node of LangGraph's page on memory: search, put what shall be remembered, answer."""
    namespace = ("memories", config["configurable"]["user_id"])
    asked = str(state["messages"][-1].content)
    found = store.search(namespace, query=asked)
    if "remember" in asked.lower():
        store.put(namespace, str(uuid.uuid4()), {"data": "User name is Bob"})
    known = "; ".join(item.value["data"] for item in found)
    return {"messages": [AIMessage(f"I know: {known}")]}


def ask(graph, text, user, thread):
    config = {"configurable": {"thread_id": thread, "user_id": user}}
    state = graph.invoke({"messages": [{"role": "user", "content": text}]}, config)
    return state["messages"][-1].content


def test_what_one_thread_stores_another_thread_of_the_same_user_finds(mesh):
    graph = (
        StateGraph(MessagesState)
        .add_node("call_model", call_model)
        .add_edge(START, "call_model")
        .compile(checkpointer=InMemorySaver(), store=MeshStore(mesh))
    )
    assert ask(graph, "Hi! Remember: my name is Bob", "1", "t1") == "I know: "
    assert ask(graph, "what is my name?", "1", "t2") == "I know: User name is Bob"
    assert ask(graph, "what is my name?", "2", "t3") == "I know: "


def test_an_async_graph_reads_and_writes_through_get_store(mesh):
    async def count(state: MessagesState) -> dict[str, Any]:
        store = get_store()
        item = await store.aget(("counts",), "visits")
        visits = 1 if item is None else item.value["n"] + 1
        await store.aput(("counts",), "visits", {"n": visits})
        return {"messages": [AIMessage(f"visit {visits}")]}

    graph = (
        StateGraph(MessagesState)
        .add_node("count", count)
        .add_edge(START, "count")
        .compile(store=MeshStore(mesh))
    )

    async def run():
        said = [await graph.ainvoke({"messages": []}) for _ in range(3)]
        return [state["messages"][-1].content for state in said]

    assert asyncio.run(run()) == ["visit 1", "visit 2", "visit 3"]


@tool
def save(fact: str, store: Annotated[BaseStore, InjectedStore()]) -> str:
    """Save a fact about the user."""
    store.put(("facts", "ann"), fact, {"fact": fact})
    return "saved"


@tool
def look_up(question: str, store: Annotated[BaseStore, InjectedStore()]) -> str:
    """Look up facts about the user."""
    found = store.search(("facts", "ann"), query=question, limit=1)
    return found[0].value["fact"] if found else "nothing"


def test_an_agents_tools_get_the_store_injected(mesh):
    model = GenericFakeChatModel(
        messages=iter(
            [
                AIMessage("", tool_calls=[_call("save", {"fact": "Ann has two cats"})]),
                AIMessage("", tool_calls=[_call("look_up", {"question": "Which cats?"})]),
                AIMessage("She has two."),
            ]
        )
    )

    def answer(state: MessagesState) -> dict[str, Any]:
        return {"messages": [model.invoke(state["messages"])]}

    def then(state: MessagesState) -> str:
        return "tools" if getattr(state["messages"][-1], "tool_calls", None) else "__end__"

    graph = (
        StateGraph(MessagesState)
        .add_node("answer", answer)
        .add_node("tools", ToolNode([save, look_up]))
        .add_edge(START, "answer")
        .add_conditional_edges("answer", then)
        .add_edge("tools", "answer")
        .compile(store=MeshStore(mesh))
    )
    messages = graph.invoke({"messages": [HumanMessage("cats?")]})["messages"]
    told = [message.content for message in messages if isinstance(message, ToolMessage)]
    assert told == ["saved", "Ann has two cats"]
    assert messages[-1].content == "She has two."


def _call(name: str, arguments: dict[str, str]) -> Any:
    return {"name": name, "args": arguments, "id": uuid.uuid4().hex, "type": "tool_call"}
