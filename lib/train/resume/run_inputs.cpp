#include "train/resume/run_inputs.hpp"

#include <string>
#include <vector>

#include "base/error.hpp"
#include "base/text/message.hpp"
#include "checkpoint/catalogue/catalogue.hpp"
#include "checkpoint/catalogue/input_checkpoints.hpp"
#include "train/report/reporter.hpp"
#include "train/resume/first_decision.hpp"

namespace ziggurat::train {

void find_reference(const spec::RunSpec& spec,
                    const comm::Context& world,
                    Reporter& reporter,
                    Resumed& resumed) {
    const auto& objective = spec.train.objective;
    if (resumed.deck.empty() || objective.reference != spec::ReferenceKind::path ||
        objective.is_reference_published) {
        return;
    }
    const auto found = decide_on_first(world, [&]() -> Decision {
        auto path = checkpoint::input_path(resumed.deck, checkpoint::reference_key);
        std::vector<std::string> notes;
        try {
            path = checkpoint::choose_verified(path, notes);
        } catch (const Error&) {
            notes.clear();  // loading the reference reports the error
        }
        for (const auto& note : notes) {
            reporter.print_line(message(Severity::note, note));
        }
        return {.path = path, .deck = checkpoint::with_input(resumed.deck, checkpoint::reference_key, path)};
    });
    resumed.reference_from = found.path;
    resumed.deck = found.deck;
}

void find_inputs(const spec::RunSpec& spec,
                 const comm::Context& world,
                 Reporter& reporter,
                 Resumed& resumed) {
    if (resumed.deck.empty()) {
        return;
    }
    if (!spec.model.is_init_published) {
        resumed.weights_from =
            decide_on_first(world, [&]() -> Decision {
                return {.path = checkpoint::input_path(resumed.deck, checkpoint::init_key)};
            }).path;
    }
    find_reference(spec, world, reporter, resumed);
}

}  // namespace ziggurat::train
