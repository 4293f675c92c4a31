#include <algorithm>

#include "app/command_line/command_table.hpp"
#include "app/command_line/shipped_texts.hpp"
#include "deck/schema/schema.hpp"

namespace ziggurat::app {
namespace {

/// Completion functions around the generated tables. Bash splits the words of a line at every '='.
constexpr const char* completing = R"bash(
# The folder of decks that belongs to the program on the line.
_ziggurat_decks() {
  local program folder
  program=$(type -P -- "$1") && program=$(readlink -f -- "$program") || return
  for folder in "${program%/*}/../share/ziggurat/decks" "${program%/*}/../../../decks"; do
    [ -d "$folder/machines" ] && echo "$folder" && return
  done
}

_ziggurat_machines() {
  local file
  for file in "$(_ziggurat_decks "$1")"/machines/*.yaml; do
    file=${file##*/}
    echo "${file%.yaml}"
  done
}

_ziggurat() {
  local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD - 1]} key= command= i positionals=0
  if [ "$cur" = = ]; then
    key=$prev cur=
  elif [ "$prev" = = ] && [ "$COMP_CWORD" -gt 1 ]; then
    key=${COMP_WORDS[COMP_CWORD - 2]}
  fi
  COMPREPLY=()
  if [ -n "$key" ]; then
    COMPREPLY=($(compgen -W "$(_ziggurat_words "$key")" -- "$cur"))
    return
  fi
  for ((i = 1; i < COMP_CWORD; ++i)); do
    case ${COMP_WORDS[i]} in
      -*) ;;
      *) if [ -z "$command" ]; then command=${COMP_WORDS[i]}; else positionals=$((positionals + 1)); fi ;;
    esac
  done
  if [ "$command" = bench ]; then
    if [ "$positionals" = 0 ]; then
      COMPREPLY=($(compgen -W "$(_ziggurat_measured)" -- "$cur"))
      return
    fi
    command="bench ${COMP_WORDS[2]}"
  fi
  case $prev in
    --machine)
      COMPREPLY=($(compgen -W "$(_ziggurat_machines "${COMP_WORDS[0]}")" -- "$cur") $(compgen -f -X '!*.yaml' -- "$cur"))
      return
      ;;
    --explain)
      COMPREPLY=($(compgen -W "$(_ziggurat_keys)" -- "$cur"))
      return
      ;;
  esac
  if [ -z "$command" ]; then
    COMPREPLY=($(compgen -W "$(_ziggurat_commands)" -- "$cur"))
  elif [[ $cur == -* ]]; then
    COMPREPLY=($(compgen -W "$(_ziggurat_options "$command") --help" -- "$cur"))
  elif [[ $command =~ ^(check|plan|slurm|train)$ ]] && [ "$positionals" -gt 0 ]; then
    COMPREPLY=($(compgen -S = -W "$(_ziggurat_keys)" -- "$cur"))
    compopt -o nospace 2>/dev/null
  elif [[ $command =~ ^(check|plan|slurm|train)$ ]]; then
    COMPREPLY=($(compgen -f -X '!*.yaml' -- "$cur") $(compgen -d -S / -- "$cur"))
    [[ ${COMPREPLY[0]-} != */ ]] || compopt -o nospace 2>/dev/null
  else
    COMPREPLY=($(compgen -f -- "$cur"))
    compopt -o filenames 2>/dev/null
  fi
}

complete -F _ziggurat ziggurat
)bash";

std::string first_word(const std::string& text) {
    return text.substr(0, text.find(' '));
}

std::string of_commands() {
    std::string values;
    std::string measured;
    std::string cases;
    for (const auto& row : commands()) {
        values += (values.empty() ? "" : " ") + first_word(row.name);
        if (row.name.starts_with("bench ")) {
            measured += (measured.empty() ? "" : " ") + row.name.substr(row.name.find(' ') + 1);
        }
        cases += "    '" + row.name + "') echo '";
        for (std::size_t i = 0; i < row.options.size(); ++i) {
            cases += (i == 0 ? "" : " ") + row.options[i].name;
        }
        cases += "' ;;\n";
    }
    return "_ziggurat_commands() { echo '" + values +
           " --help --version'; }\n\n_ziggurat_measured() { echo '" + measured +
           "'; }\n\n_ziggurat_options() {\n  case $1 in\n" + cases + "  esac\n}\n";
}

/// Returns true for keys that take a single value. Elements of lists are written as YAML.
bool is_key(const deck::Row& row) {
    const std::string_view path = row.path;
    return row.type != deck::Type::map && row.type != deck::Type::variables &&
           row.implemented == deck::Implemented::yes && path.find("[]") == path.npos;
}

std::string of_keys() {
    std::string keys;
    std::string cases;
    for (const auto& row : deck::deck_schema().rows()) {
        if (!is_key(row)) {
            continue;
        }
        keys += std::string{row.path} + "\n";
        const std::string values =
            std::string{row.type == deck::Type::boolean ? "true false " : ""} + row.keywords;
        if (!values.empty()) {
            cases += "    " + std::string{row.path} + ") echo '" + values + "' ;;\n";
        }
    }
    return "\n_ziggurat_keys() {\n  echo '" + keys + "'\n}\n\n_ziggurat_words() {\n  case $1 in\n" + cases +
           "  esac\n}\n";
}

}  // namespace

std::string bash_completion() {
    return "# Completion of ziggurat for bash; generated with the program.\n" + of_commands() + of_keys() +
           completing;
}

}  // namespace ziggurat::app
