"""Chat templates in the styles of published models, written for tests, and the conversations that they render.

Answers stand between `{% generation %}` marks, which published templates mostly lack: unmarked() takes them out.
"""

import dataclasses
import re


@dataclasses.dataclass(frozen=True)
class Style:
    template: str
    bos: str = ""
    eos: str = ""
    added: tuple = ()  # further added tokens
    knows: tuple = ("system",)  # what else than plain turns it renders: system, tools, thinking
    keeps: bool = True  # beginnings of conversations stay the same when more follows
    takes_space: tuple = ()  # added tokens that take the white space behind them


def unmarked(template):
    return re.sub(r"\{%-?\s*(?:end)?generation\s*-?%\}", "", template)


def joined(*lines):
    return "\n".join(lines)


CHATML = joined(
    "{%- for message in messages %}",
    "    {{- '<|im_start|>' + message.role + '\\n' }}",
    "    {%- if message.role == 'assistant' %}{% generation %}{{ message.content + '<|im_end|>' }}{% endgeneration %}",
    "    {%- else %}{{ message.content + '<|im_end|>' }}{% endif %}",
    "    {{- '\\n' }}",
    "{%- endfor %}",
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{% endif %}")

LLAMA2 = joined(
    "{% if messages[0].role == 'system' %}",
    "    {% set rest = messages[1:] %}{% set system = '<<SYS>>\\n' + messages[0].content + '\\n<</SYS>>\\n\\n' %}",
    "{% else %}{% set rest = messages %}{% set system = '' %}{% endif %}",
    "{% for message in rest %}",
    "    {% if (message.role == 'user') != (loop.index0 % 2 == 0) %}{{ raise_exception('roles must alternate') }}{% endif %}",
    "    {% if message.role == 'user' %}",
    "        {{- bos_token + '[INST] ' + (system if loop.index0 == 0 else '') + message.content | trim + ' [/INST]' }}",
    "    {%- else %}{% generation %}{{ ' ' + message.content | trim + ' ' + eos_token }}{% endgeneration %}{% endif %}",
    "{% endfor %}")

LLAMA3 = joined(
    "{{- bos_token }}",
    "{%- if tools is not none and tools %}",
    "    {{- '<|start_header_id|>system<|end_header_id|>\\n\\nEnvironment: ipython\\n' }}",
    "    {%- for tool in tools %}{{- tool | tojson(indent=4) + '\\n\\n' }}{% endfor %}{{- '<|eot_id|>' }}",
    "{%- endif %}",
    "{%- for message in messages %}",
    "    {{- '<|start_header_id|>' + ('ipython' if message.role == 'tool' else message.role) + '<|end_header_id|>\\n\\n' }}",
    "    {%- if message.role == 'assistant' %}{% generation %}",
    "        {%- if message.tool_calls %}",
    "            {%- set call = message.tool_calls[0].function %}",
    "            {{- '{\"name\": \"' + call.name + '\", \"parameters\": ' }}{{- call.arguments | tojson }}{{- '}' }}",
    "        {%- else %}{{- message.content | trim }}{% endif %}{{- '<|eot_id|>' }}{% endgeneration %}",
    "    {%- else %}{{- message.content | trim + '<|eot_id|>' }}{% endif %}",
    "{%- endfor %}",
    "{%- if add_generation_prompt %}{{- '<|start_header_id|>assistant<|end_header_id|>\\n\\n' }}{% endif %}")

MISTRAL = joined(
    "{%- if messages[0]['role'] == 'system' %}{% set system = messages[0]['content'] %}{% set rest = messages[1:] %}",
    "{%- else %}{% set rest = messages %}{% endif %}",
    "{{- bos_token }}",
    "{%- for message in rest %}",
    "    {%- if message['role'] == 'user' %}",
    "        {{- '[INST] ' }}{% if loop.first and system is defined %}{{- system + '\\n\\n' }}{% endif %}",
    "        {{- message['content'] + '[/INST]' }}",
    "    {%- elif message['role'] == 'assistant' %}",
    "        {%- generation %}{{- ' ' + message['content'] + eos_token }}{% endgeneration %}",
    "    {%- else %}{{- raise_exception('only user and assistant roles') }}{% endif %}",
    "{%- endfor %}")

GEMMA = joined(
    "{{ bos_token }}{% if messages[0]['role'] == 'system' %}{{ raise_exception('no system role') }}{% endif %}",
    "{% for message in messages %}",
    "{% set role = 'model' if message['role'] == 'assistant' else message['role'] %}",
    "{{ '<start_of_turn>' + role + '\\n' -}}",
    "{% if role == 'model' %}{% generation %}{{ message['content'] | trim + '<end_of_turn>' }}{% endgeneration %}",
    "{%- else %}{{ message['content'] | trim + '<end_of_turn>' }}{% endif %}",
    "{{- '\\n' }}",
    "{%- endfor %}{% if add_generation_prompt %}{{ '<start_of_turn>model\\n' }}{% endif %}")

PHI3 = joined(
    "{% for message in messages %}{% if message['role'] == 'assistant' %}",
    "{{ '<|assistant|>\\n' -}}{% generation %}{{ message['content'] + '<|end|>' }}{% endgeneration %}{{ '\\n' -}}",
    "{% else %}{{ '<|' + message['role'] + '|>\\n' + message['content'] + '<|end|>\\n' -}}{% endif %}",
    "{% endfor %}",
    "{%- if add_generation_prompt %}{{ '<|assistant|>\\n' }}{% else %}{{ eos_token }}{% endif %}")

PHI4 = joined(
    "{% for message in messages %}",
    "{% if message['role'] == 'assistant' %}",
    "{{- '<|im_start|>assistant<|im_sep|>' }}{% generation %}{{ message['content'] + '<|im_end|>' }}{% endgeneration %}",
    "{%- else %}{{- '<|im_start|>' + message['role'] + '<|im_sep|>' + message['content'] + '<|im_end|>' }}{% endif %}",
    "{%- endfor %}",
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant<|im_sep|>' }}{% endif %}")

TOOLS = joined(
    "{%- macro all_tools(tools) %}",
    "    {{- '# Tools\\n\\nSignatures are within <tools></tools>:\\n<tools>' }}",
    "    {%- for tool in tools %}{{- '\\n' }}{{- tool | tojson }}{% endfor %}{{- '\\n</tools>' }}",
    "{%- endmacro %}",
    "{%- macro all_calls(message) %}",
    "    {%- for call in message.tool_calls %}",
    "        {%- if call.function is defined %}{% set call = call.function %}{% endif %}",
    "        {{- '\\n' if message.content or not loop.first else '' }}",
    "        {{- '<tool_call>\\n{\"name\": \"' + call.name + '\", \"arguments\": ' }}{{- call.arguments | tojson }}",
    "        {{- '}\\n</tool_call>' }}",
    "    {%- endfor %}",
    "{%- endmacro %}\n")

QWEN25 = TOOLS + joined(
    "{%- set first = messages[0].content if messages[0].role == 'system' else 'You are a helpful assistant.' %}",
    "{{- '<|im_start|>system\\n' + first + ('\\n\\n' + all_tools(tools) if tools else '') + '<|im_end|>\\n' }}",
    "{%- for message in messages %}",
    "    {%- if message.role == 'assistant' %}",
    "        {{- '<|im_start|>assistant\\n' }}{% generation %}",
    "        {{- (message.content or '') + all_calls(message) + '<|im_end|>' }}{% endgeneration %}{{- '\\n' }}",
    "    {%- elif message.role == 'tool' %}",
    "        {%- if loop.index0 == 0 or messages[loop.index0 - 1].role != 'tool' %}{{- '<|im_start|>user' }}{% endif %}",
    "        {{- '\\n<tool_response>\\n' + message.content + '\\n</tool_response>' }}",
    "        {%- if loop.last or messages[loop.index0 + 1].role != 'tool' %}{{- '<|im_end|>\\n' }}{% endif %}",
    "    {%- elif message.role != 'system' or not loop.first %}",
    "        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}",
    "    {%- endif %}",
    "{%- endfor %}",
    "{%- if add_generation_prompt %}{{- '<|im_start|>assistant\\n' }}{% endif %}")

QWEN3 = TOOLS + joined(
    "{%- if tools %}{{- '<|im_start|>system\\n' + all_tools(tools) + '<|im_end|>\\n' }}{% endif %}",
    "{%- set ns = namespace(last=-1) %}",
    "{%- for message in messages[::-1] %}",
    "    {%- set index = messages | length - 1 - loop.index0 %}",
    "    {%- if ns.last < 0 and message.role == 'user' %}{% set ns.last = index %}{% endif %}",
    "{%- endfor %}",
    "{%- for message in messages %}",
    "    {%- if message.role == 'assistant' %}",
    "        {%- set thought = message.reasoning_content if message.reasoning_content is string else '' %}",
    "        {%- set content = message.content or '' %}",
    "        {%- if '</think>' in content %}",
    "            {%- set thought = content.split('</think>')[0].rstrip('\\n').split('<think>')[-1].lstrip('\\n') %}",
    "            {%- set content = content.split('</think>')[-1].lstrip('\\n') %}",
    "        {%- endif %}",
    "        {{- '<|im_start|>assistant\\n' }}{% generation %}",
    "        {%- if loop.index0 > ns.last and (loop.last or thought) %}",
    "            {{- '<think>\\n' + thought.strip('\\n') + '\\n</think>\\n\\n' }}",
    "        {%- endif %}",
    "        {{- content + all_calls(message) + '<|im_end|>' }}{% endgeneration %}{{- '\\n' }}",
    "    {%- elif message.role == 'tool' %}",
    "        {{- '<|im_start|>user\\n<tool_response>\\n' + message.content + '\\n</tool_response><|im_end|>\\n' }}",
    "    {%- else %}",
    "        {{- '<|im_start|>' + message.role + '\\n' + message.content + '<|im_end|>\\n' }}",
    "    {%- endif %}",
    "{%- endfor %}",
    "{%- if add_generation_prompt %}",
    "    {{- '<|im_start|>assistant\\n' }}",
    "    {%- if enable_thinking is defined and enable_thinking is false %}{{- '<think>\\n\\n</think>\\n\\n' }}{% endif %}",
    "{%- endif %}")

SMOLLM3 = TOOLS + joined(
    "{%- set mode = '/no_think' if enable_thinking is defined and not enable_thinking else '/think' %}",
    "{%- set system = messages[0].content if messages[0].role == 'system' else 'You answer after a thought.' %}",
    "{{- '<|im_start|>system\\n## Metadata\\n\\nReasoning Mode: ' + mode + '\\n\\n' + system + '\\n' }}",
    "{%- if tools %}{{- all_tools(tools) }}{% endif %}{{- '<|im_end|>\\n' }}",
    "{%- for message in messages %}",
    "    {%- set content = message.content if message.content is string else '' %}",
    "    {%- if message.role == 'user' %}{{ '<|im_start|>user\\n' + content + '<|im_end|>\\n' }}",
    "    {%- elif message.role == 'assistant' %}{% generation %}",
    "        {{- '<|im_start|>assistant\\n' + content.lstrip('\\n') + all_calls(message) + '<|im_end|>\\n' -}}",
    "        {% endgeneration %}",
    "    {%- elif message.role == 'tool' %}{{ '<|im_start|>user\\n' + content + '<|im_end|>\\n' }}",
    "    {%- endif %}",
    "{%- endfor %}",
    "{%- if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}")

DEEPSEEK_R1 = joined(
    "{% set ns = namespace(system='') %}",
    "{%- for message in messages %}{% if message['role'] == 'system' %}{% set ns.system = message['content'] %}{% endif %}",
    "{%- endfor %}{{ bos_token }}{{ ns.system }}",
    "{%- for message in messages %}",
    "    {%- if message['role'] == 'user' %}{{ '<｜User｜>' + message['content'] }}",
    "    {%- elif message['role'] == 'assistant' %}",
    "        {%- set content = message['content'] %}",
    "        {%- if '</think>' in content and not loop.last %}{% set content = content.split('</think>')[-1] %}{% endif %}",
    "        {{- '<｜Assistant｜>' }}{% generation %}{{ content + '<｜end▁of▁sentence｜>' }}{% endgeneration %}",
    "    {%- endif %}",
    "{%- endfor %}",
    "{%- if add_generation_prompt %}{{ '<｜Assistant｜>' }}{% endif %}")

ZEPHYR = joined(
    "{% for message in messages %}",
    "{% if message['role'] == 'assistant' %}",
    "{{ '<|assistant|>\\n' -}}{% generation %}{{ message['content'] + eos_token }}{% endgeneration %}{{ '\\n' -}}",
    "{% else %}",
    "{{ '<|' + message['role'] + '|>\\n' + message['content'] + eos_token + '\\n' -}}",
    "{% endif %}",
    "{% if loop.last and add_generation_prompt %}",
    "{{ '<|assistant|>\\n' -}}",
    "{% endif %}",
    "{% endfor %}")

COMMAND_R = joined(
    "{{ bos_token }}",
    "{%- for message in messages %}",
    "    {{- '<|START_OF_TURN_TOKEN|>' }}",
    "    {%- if message['role'] == 'assistant' %}{{- '<|CHATBOT_TOKEN|>' }}{% generation %}",
    "        {{- message['content'].strip() + '<|END_OF_TURN_TOKEN|>' }}{% endgeneration %}",
    "    {%- else %}",
    "        {{- ('<|SYSTEM_TOKEN|>' if message['role'] == 'system' else '<|USER_TOKEN|>') }}",
    "        {{- message['content'].strip() + '<|END_OF_TURN_TOKEN|>' }}",
    "    {%- endif %}",
    "{%- endfor %}",
    "{%- if add_generation_prompt %}{{ '<|START_OF_TURN_TOKEN|><|CHATBOT_TOKEN|>' }}{% endif %}")

IM = ("<|im_start|>", "<|im_end|>")
ALL = ("system", "tools", "thinking")
STYLES = {
    "chatml": Style(CHATML, eos="<|im_end|>", added=IM),
    "llama2": Style(LLAMA2, "<s>", "</s>"),
    "llama3": Style(LLAMA3, "<|begin_of_text|>", "<|eot_id|>", ("<|start_header_id|>", "<|end_header_id|>"), ("system", "tools")),
    "mistral": Style(MISTRAL, "<s>", "</s>", ("[INST]", "[/INST]")),
    "gemma": Style(GEMMA, "<bos>", "<eos>", ("<start_of_turn>", "<end_of_turn>"), ()),
    "phi3": Style(PHI3, "<s>", "<|endoftext|>", ("<|system|>", "<|user|>", "<|assistant|>", "<|end|>"),
                  takes_space=("<|system|>", "<|user|>", "<|assistant|>", "<|end|>")),
    "phi4": Style(PHI4, eos="<|im_end|>", added=(*IM, "<|im_sep|>")),
    "qwen2.5": Style(QWEN25, eos="<|im_end|>", added=IM, knows=("system", "tools")),
    "qwen3": Style(QWEN3, eos="<|im_end|>", added=(*IM, "<think>", "</think>"), knows=ALL, keeps=False),
    "smollm3": Style(SMOLLM3, eos="<|im_end|>", added=IM, knows=("system", "tools")),
    "deepseek_r1": Style(DEEPSEEK_R1, "<｜begin▁of▁sentence｜>", "<｜end▁of▁sentence｜>", ("<｜User｜>", "<｜Assistant｜>"),
                         ("system", "thinking"), keeps=False),
    "zephyr": Style(ZEPHYR, "<s>", "</s>"),
    "command_r": Style(COMMAND_R, "<BOS_TOKEN>", "<|END_OF_TURN_TOKEN|>",
                       ("<|START_OF_TURN_TOKEN|>", "<|USER_TOKEN|>", "<|CHATBOT_TOKEN|>", "<|SYSTEM_TOKEN|>")),
}


def turns(*texts, system=None):
    roles = ("user", "assistant")
    made = [] if system is None else [{"role": "system", "content": system}]
    return made + [{"role": roles[i % 2], "content": text} for i, text in enumerate(texts)]


WEATHER = {"type": "function", "function": {
    "name": "weather", "description": "Temperature <of> a city & its sky",
    "parameters": {"type": "object", "required": ["city"],
                   "properties": {"city": {"type": "string", "description": "Stadt, 城市"}, "days": {"type": "integer"}}}}}


def call(name, **arguments):
    return {"type": "function", "function": {"name": name, "arguments": arguments}}


# What they need, the messages, the tools.
CONVERSATIONS = [
    ((), turns("Hello", "Hi."), None),
    ((), turns("Why?", "Because.", "  And\nthen? ", "Then\n\nit  ended.\n", "So", "Yes"), None),
    ((), turns("Größe 🙂 人人生而自由", "日本語 é e\u0301 👩‍👩‍👧‍👦!", "שלום <b>&amp;</b> \"q\" \\", "مرحبا{{ x }}{% y %}"), None),
    ((), turns("x" * 300, "y " * 200 + "\t\n z"), None),
    (("system",), turns("Hello", "Hi.", "Bye", "Bye!", system="Be short.\nVery."), None),
    (("tools",), turns("Weather?") + [
        {"role": "assistant", "content": "", "tool_calls": [call("weather", city="Köln", days=3)]},
        {"role": "tool", "name": "weather", "content": "{\"t\": 21.5}"},
        {"role": "assistant", "content": "It is 21.5 °C."}], [WEATHER]),
    (("tools",), turns("Hello", "Hi."), [WEATHER, WEATHER]),
    (("thinking",), turns("1+1?", "<think>\none\n</think>\n\n2", "2+2?", "<think>\ntwo\n</think>\n\n4"), None),
]
