#include "kernels/initial_values.hpp"

#include "base/contract.hpp"
#include "kernels/launch/launch.hpp"

namespace ziggurat::kernels {

void fill_normal(const device::Stream& stream,
                 const NormalField& field,
                 const LocalWindow& window,
                 std::int64_t begin,
                 VectorAddress<float> values) {
    ZG_EXPECTS(window.columns > 0 && begin >= 0);
    launch_on_host<fill_normal>(stream, field, window, begin, values);
}

}  // namespace ziggurat::kernels
