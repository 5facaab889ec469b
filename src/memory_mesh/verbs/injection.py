"""Give an agent the memories that its task calls up."""

from memory_mesh import flows
from memory_mesh.fastdataclass import replace
from memory_mesh.model import Scope
from memory_mesh.policy.arguments import check_limit, check_text
from memory_mesh.typed import TYPE_CHECKING
from memory_mesh.view import View

if TYPE_CHECKING:
    from memory_mesh.flows.injection import Asked
    from memory_mesh.model.trigger import MemoryMetadata, RelevantMemory


class InjectionVerbs(View):
    """Methods that select memories by their triggers."""

    def find_relevant_memories(
        self,
        task: str,
        *,
        agent_name: str = "",
        current_plan: str | None = None,
        max_memories: int | None = None,
        min_importance: str | None = None,
        scope: Scope | None = None,
    ) -> "list[RelevantMemory]":
        """Returns the memories whose triggers a task meets, those with the most points first.

        The answer holds title, tags and points of each, not its text; `get` reads that.

        Options:
            agent_name: the agent that will do the task; its setting and its specialty count.
            current_plan: the plan of the task; triggers are looked for in it as well.
            max_memories: in place of the agent's max_injected, which is 5 by default.
            min_importance: in place of the agent's: low, medium, high or critical.
            scope: who reads; by default the project, agent and session of this mesh.
        """
        asked = self._asked(task, agent_name, current_plan, scope)
        rules = asked.rules
        if max_memories is not None:
            rules = replace(rules, max_memories=check_limit(max_memories))
        if min_importance is not None:
            from memory_mesh.policy.triggers.selecting import level

            rules = replace(rules, min_importance=level(min_importance))
        return flows.injection.relevant(self._access(), replace(asked, rules=rules))

    def build_agent_prompt(
        self,
        agent: str,
        *,
        task: str,
        current_plan: str | None = None,
        prompt: str = "",
        scope: Scope | None = None,
    ) -> str:
        """Returns the system prompt of an agent with the memories that its task calls up.

        What is shown counts as used. Nothing relevant, nothing added.

        Options:
            task: what the agent is about to do.
            current_plan: the plan of the task; triggers are looked for in it as well.
            prompt: the agent's own system prompt; the memories follow it.
            scope: who reads; by default the project, agent and session of this mesh.
        """
        asked = self._asked(task, agent, current_plan, scope)
        own = check_text(prompt, "prompt")
        known = flows.injection.prompt(self._access(), asked, self._config.injection_max_tokens)
        return f"{own.rstrip()}\n\n{known}" if own.strip() and known else own + known

    def triggers(self, *, limit: int = 100, scope: Scope | None = None) -> "list[MemoryMetadata]":
        """Lists the memories that have triggers, the newest first, without their texts.

        Options:
            limit: the largest number of results, 1 to 1,000.
            scope: who reads; by default the project, agent and session of this mesh.
        """
        return flows.injection.triggers(self._access(), self._lens(scope), check_limit(limit))

    def _asked(self, task: str, agent: str, plan: str | None, scope: Scope | None) -> "Asked":
        from memory_mesh.model.trigger import MatchContext

        context = MatchContext(
            check_text(task, "task"),
            check_text(agent, "agent_name"),
            None if plan is None else check_text(plan, "current_plan"),
        )
        return flows.injection.Asked(context, self._lens(scope), self._injection_rules(agent))
