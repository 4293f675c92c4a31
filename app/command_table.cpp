#include "app/command_table.hpp"

namespace ziggurat::app {

const std::vector<CommandRow>& commands() {
    static const std::vector<CommandRow> rows{check_row(),  train_row(), plan_row(), inspect_row(),
                                              sample_row(), eval_row(),  plot_row(), bench_io_row()};
    return rows;
}

}  // namespace ziggurat::app
