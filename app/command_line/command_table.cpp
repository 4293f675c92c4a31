#include "app/command_line/command_table.hpp"

namespace ziggurat::app {

const std::vector<CommandRow>& commands() {
    static const std::vector<CommandRow> rows{check_row(),   train_row(),    plan_row(),     slurm_row(),
                                              inspect_row(), sample_row(),   eval_row(),     import_row(),
                                              export_row(),  tokenize_row(), plot_row(),     report_row(),
                                              top_row(),     doctor_row(),   bench_io_row(), bench_gpu_row()};
    return rows;
}

}  // namespace ziggurat::app
