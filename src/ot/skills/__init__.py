"""Skills: functions kept from code that worked, in `.onetool/skills`, registered as one pack.

- A call of a skill passes every step of a call, and gives code (`SkillCode`), which only a kernel takes and executes
  as a module of its own. So policy, checks and statistics need nothing new, and the calls inside are the run's.
- Nothing is executed by reading a file (`skill_file`), and what would run when the function is defined is refused.
- Arguments stay where they are: the server checks a copy, the code gets the caller's own objects.
- `new_skill` writes text that is parsed again: its body must be the tree of the given code. A person is shown that
  text and no other; what is trusted is what was shown.
- A skill inside an event loop gets a thread of its own, since it may want a loop of its own.
"""
