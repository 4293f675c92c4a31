#include "app/check.hpp"

#include "app/commands.hpp"

namespace ziggurat::app {

int check(const Arguments& arguments) {
    return run_check({.deck = arguments.deck,
                      .overrides = arguments.overrides,
                      .ranks = arguments.ranks.value_or(0),
                      .threads = 0,
                      .machine = arguments.machine,
                      .print = arguments.print,
                      .explain = arguments.explain,
                      .memory = {}});
}

}  // namespace ziggurat::app
