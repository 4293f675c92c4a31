#include "comm/async_sum.hpp"

#include "comm/check_mpi.hpp"

namespace ziggurat::comm {

AsyncSum::AsyncSum(const Communicator& group, int num_words)
    : group_{group.duplicate()}, words_(static_cast<std::size_t>(num_words)) {}

AsyncSum::~AsyncSum() {
    if (request_ != MPI_REQUEST_NULL) {
        MPI_Request_free(&request_);  // only on the way out of an error: nobody will wait for it
    }
}

void AsyncSum::start() {
    ZG_MPI(MPI_Iallreduce(MPI_IN_PLACE, words_.data(), mpi_count(std::ssize(words_)), MPI_INT64_T, MPI_SUM,
                          group_.native(), &request_));
}

bool AsyncSum::poll() {
    int done = 0;
    ZG_MPI(MPI_Test(&request_, &done, MPI_STATUS_IGNORE));
    return done != 0;
}

}  // namespace ziggurat::comm
