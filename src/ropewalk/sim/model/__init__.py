"""A scripted Messages API for CLIs without a network: the public names of the stand-in. Nothing is defined here."""

from ropewalk.sim.model.asked import Asked
from ropewalk.sim.model.run import run_sim_model
from ropewalk.sim.model.scenario import load_scenario
from ropewalk.sim.model.script import Reply, Rule, Script, reply, text, thinking, tool
from ropewalk.sim.model.server import SimModel

__all__ = ["Asked", "Reply", "Rule", "Script", "SimModel", "load_scenario", "reply", "run_sim_model", "text", "thinking", "tool"]
