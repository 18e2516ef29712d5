"""What differs between CLI versions, as one table. Refuses logic: each field is a fact that was measured on a real CLI.

Sources: runs of 2.1.37, 2.1.62 and 2.1.326 (stdio), of 2.1.120 on links only. 2.1.120 is spoken here as 2.1.62 with
what its recorded links showed to differ.
"""

from __future__ import annotations

from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Traits:
    """One version's habits. The comments say what the other value would mean."""

    version: str
    on_the_way: bool  # 2.1.120: some of what 2.1.326 says (reasons of results, agents, times), not the rest
    # What kills it
    strict_types: bool  # an unknown `type`, a blank line, control_cancel_request: exit 1 (else skipped)
    dies_on_approved: bool  # {approved: true}, a response without `response`: exit 1 (else ignored)
    assistant_breaks: bool  # an `assistant` line in makes the next turn fail
    # Requests of the controller
    unknown_request: str  # "silence", "error" or "error_code"
    double_mode_answer: bool  # set_permission_mode is answered twice
    checks_modes: bool  # mode names checked, bypass guarded, status line after a change
    second_initialize: str  # "error" or "success"; both list the open questions
    interrupt_receipt: bool  # interrupt answers {still_queued}
    model_told: bool  # set_model answers {model} and says so in a user line
    newer_requests: bool  # the requests that only 2.1.326 knows
    stop_task: bool
    knows_dynamic_servers: bool  # mcp_reconnect and mcp_toggle find servers of mcp_set_servers
    stop_task_told: bool  # stop_task: task_updated + task_notification, also success for unknown ids
    apply_flag_settings: bool
    # Questions
    rich_questions: bool  # display_name, description, requires_user_interaction …
    lenient_answers: bool  # allow without updatedInput, bad updatedPermissions: taken (else refused)
    fixed_stop_words: bool  # deny + interrupt and withdrawn questions get a fixed message
    edited_plan: bool  # an edited plan counts
    choice_checked: bool  # AskUserQuestion answers are matched with the questions
    early_questions: bool  # a tool starts before message_stop
    decision_lines: bool  # tool_result_meta, system/permission_denied
    hook_before_question: bool  # PermissionRequest hooks are called before the question is put (else right after)
    rules_cover_files: bool  # a rule by command prefix covers commands that touch files (else their path is still asked about)
    hides_interaction: bool  # without the prompt tool: no AskUserQuestion, ExitPlanMode, EnterPlanMode
    # Turns
    interrupted_is_error: bool
    keeps_partial_text: bool  # text before an interrupt comes as an assistant line, aborted
    model_mid_turn: bool  # set_model counts from the next model call (else from the next turn)
    merges_prompts: bool  # prompts waiting at the end of a turn become one turn
    priorities: bool  # `priority` of a prompt counts
    lifecycle: bool  # command_lifecycle, user_message_uuid(s)
    timestamps: bool  # timestamp, request_id on assistant and user lines
    rich_results: bool  # terminal_reason, timings, stop_reason … in results
    requesting: bool  # status "requesting" before model calls when partial messages are on
    limits_are_errors: bool  # max turns, max budget: is_error
    retries_told: bool  # api_retry lines
    rate_limit_lines: bool
    # Work
    task_lines: str  # "none", "some" (started, progress, notification) or "all"
    agent_tool: str  # the name that the model calls
    agents_in_background: bool  # unless told otherwise
    agent_texts: bool  # texts of sub-agents are forwarded (and their prompt is not)
    background_turn: bool  # the end of background work starts a turn
    leaves_at_eof: bool  # closing stdin ends it even though background work goes on
    hook_timeout_refuses: bool
    env_updates: bool  # update_environment_variables reaches tools
    clear_command: bool  # /clear is known: a new session id
    slash_unknown_to_model: bool
    local_output: str  # of /cost …: "user" (isReplay) or "assistant"
    reminds_schema: int  # how often a model that gives no structured output is reminded; -1 = without end
    schema_ends_turn: bool
    cost_goes_on: bool  # a resumed process goes on from the stored total
    asked_id_on_unknown: bool  # unknown --resume id: the result carries the asked id (else a random one)
    mcp_first: bool  # sdk servers are spoken to before initialize is answered
    mcp_string_ids: bool
    mcp_set_twice: bool  # mcp_set_servers does the handshake twice, interleaved
    ends_commands: bool  # a signal ends running commands, too (else they go on without it)
    sigint_result: bool  # SIGINT: a result, then exit 0 (else just exit 0)
    # Launch
    sdk_url: bool
    modes: tuple[str, ...]
    # Words
    model: str
    small_model: str
    small_calls: bool  # a small model is asked about each command that ran
    context_window: int
    max_output: int
    price: tuple[float, float]  # USD per million tokens in, out (as these CLIs counted our scripted calls)
    tools: tuple[str, ...]
    slash_commands: tuple[str, ...]
    agents: tuple[str, ...]
    skills: tuple[str, ...]
    output_styles: tuple[str, ...]


_OLD_TOOLS = (
    "Task", "TaskOutput", "Bash", "Glob", "Grep", "ExitPlanMode", "Read", "Edit", "Write", "NotebookEdit", "WebFetch",
    "TodoWrite", "WebSearch", "TaskStop", "AskUserQuestion", "Skill", "EnterPlanMode",
)  # fmt: skip
_NEW_TOOLS = (
    "Task", "AskUserQuestion", "Bash", "CronCreate", "CronDelete", "CronList", "Edit", "EnterPlanMode", "ExitPlanMode", "Read",
    "Skill", "TaskStop", "Write",
)  # fmt: skip

V37 = Traits(
    version="2.1.37",
    on_the_way=False,
    strict_types=True,
    dies_on_approved=True,
    assistant_breaks=False,
    unknown_request="silence",
    double_mode_answer=True,
    checks_modes=False,
    second_initialize="error",
    interrupt_receipt=False,
    model_told=False,
    newer_requests=False,
    stop_task=False,
    knows_dynamic_servers=False,
    stop_task_told=False,
    apply_flag_settings=False,
    rich_questions=False,
    lenient_answers=False,
    fixed_stop_words=False,
    edited_plan=False,
    choice_checked=False,
    early_questions=False,
    decision_lines=False,
    hook_before_question=True,
    rules_cover_files=False,
    hides_interaction=False,
    interrupted_is_error=False,
    keeps_partial_text=False,
    model_mid_turn=False,
    merges_prompts=False,
    priorities=False,
    lifecycle=False,
    timestamps=False,
    rich_results=False,
    requesting=False,
    limits_are_errors=False,
    retries_told=False,
    rate_limit_lines=False,
    task_lines="none",
    agent_tool="Task",
    agents_in_background=False,
    agent_texts=False,
    background_turn=False,
    leaves_at_eof=True,
    hook_timeout_refuses=False,
    env_updates=True,
    clear_command=False,
    slash_unknown_to_model=False,
    local_output="user",
    reminds_schema=-1,
    schema_ends_turn=False,
    cost_goes_on=False,
    asked_id_on_unknown=False,
    mcp_first=False,
    mcp_string_ids=False,
    mcp_set_twice=True,
    ends_commands=False,
    sigint_result=False,
    sdk_url=True,
    modes=("acceptEdits", "bypassPermissions", "default", "delegate", "dontAsk", "plan"),
    model="claude-sonnet-4-5-20250929",
    small_model="claude-haiku-4-5-20251001",
    small_calls=True,
    context_window=200_000,
    max_output=64_000,
    price=(5.0, 25.0),
    tools=_OLD_TOOLS,
    slash_commands=("debug", "compact", "context", "cost", "init", "pr-comments", "release-notes", "review", "security-review"),
    agents=("Bash", "general-purpose", "statusline-setup", "Explore", "Plan"),
    skills=("debug",),
    output_styles=("default", "Explanatory", "Learning"),
)

V62 = replace(
    V37,
    version="2.1.62",
    strict_types=False,
    assistant_breaks=True,
    unknown_request="error",
    double_mode_answer=False,
    hook_before_question=False,
    stop_task=True,
    knows_dynamic_servers=True,
    apply_flag_settings=True,
    rate_limit_lines=True,
    task_lines="some",
    background_turn=True,
    leaves_at_eof=False,
    modes=("acceptEdits", "bypassPermissions", "default", "dontAsk", "plan"),
    model="claude-sonnet-4-6",
    max_output=32_000,
    agents=("general-purpose", "statusline-setup", "Explore", "Plan"),
)

V120 = replace(V62, version="2.1.120", on_the_way=True, requesting=True, small_calls=False)

V326 = replace(
    V62,
    version="2.1.326",
    dies_on_approved=False,
    assistant_breaks=False,
    unknown_request="error_code",
    checks_modes=True,
    second_initialize="success",
    interrupt_receipt=True,
    model_told=True,
    newer_requests=True,
    stop_task_told=True,
    rich_questions=True,
    lenient_answers=True,
    fixed_stop_words=True,
    edited_plan=True,
    choice_checked=True,
    early_questions=True,
    decision_lines=True,
    rules_cover_files=True,
    hides_interaction=True,
    interrupted_is_error=True,
    keeps_partial_text=True,
    model_mid_turn=True,
    merges_prompts=True,
    priorities=True,
    lifecycle=True,
    timestamps=True,
    rich_results=True,
    requesting=True,
    limits_are_errors=True,
    retries_told=True,
    task_lines="all",
    agent_tool="Agent",
    agents_in_background=True,
    agent_texts=True,
    hook_timeout_refuses=True,
    env_updates=False,
    clear_command=True,
    slash_unknown_to_model=True,
    local_output="assistant",
    reminds_schema=1,
    schema_ends_turn=True,
    cost_goes_on=True,
    asked_id_on_unknown=True,
    mcp_first=True,
    mcp_string_ids=True,
    mcp_set_twice=False,
    ends_commands=True,
    sigint_result=True,
    sdk_url=False,
    modes=("acceptEdits", "auto", "bypassPermissions", "default", "dontAsk", "manual", "plan"),
    model="claude-opus-5-5",
    small_model="claude-haiku-4-5",
    small_calls=False,
    context_window=1_000_000,
    max_output=128_000,
    price=(4.0, 20.0),
    tools=_NEW_TOOLS,
    slash_commands=("deep-research", "dataviz", "update-config", "compact", "context", "cost", "clear", "init", "review"),
    agents=("claude", "Explore", "general-purpose", "Plan"),
    skills=("deep-research", "dataviz", "update-config"),
    output_styles=("default", "Proactive", "Explanatory", "Learning"),
)

VERSIONS = {traits.version: traits for traits in (V37, V62, V120, V326)}
DEFAULT = "2.1.326"


def traits_of(name: str) -> Traits | None:
    """The habits of a version, also by its last number alone ("37"); None for one that was never measured."""
    return VERSIONS.get(name) or VERSIONS.get(f"2.1.{name}")
