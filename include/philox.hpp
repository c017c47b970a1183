/*
 * philox.hpp - owning handles for C++17
 *
 * The C functions are the interface; this header only makes sure that what they
 * make is destroyed, once and in reverse order. A handle converts to what C
 * functions take, and put() is where they write:
 *
 *   philox::device device;
 *   philox::context context;
 *
 *   if (philox_device_open("host", device.put()) ||
 *       philox_context_create(device, context.put()))
 *           return philox_error_message();
 *
 * Handles can be moved and not copied. One that needs its device to be
 * destroyed (stream, event, memory, native graphs) is made with it, and must
 * not outlive it. philox::pass aborts a pass that was neither committed nor
 * aborted: on the way out of a function that fails the ledger is as it was.
 *
 * A runner's functions are destroyed with it: declare a philox::function after
 * its philox::runner, and both after their context. philox::output releases an
 * output on a stream. philox::pool_session ends a session as failed unless
 * end() has ended it.
 *
 * Nothing throws, and the header compiles without exceptions. If
 * PHILOX_EXCEPTIONS is defined before it is included, philox::check(call)
 * throws philox::error instead of returning a status.
 *
 * Threads: as for any object; the functions called are those of C.
 */
#ifndef PHILOX_HPP
#define PHILOX_HPP

#include <utility>
#include <philox.h>

#ifdef PHILOX_EXCEPTIONS
#include <stdexcept>
#endif

namespace philox
{

#ifdef PHILOX_EXCEPTIONS

/* error is a status with philox_error_message(), which says what happened. */
class error : public std::runtime_error
{
      public:
	explicit error(philox_status status)
	    : std::runtime_error(philox_error_message()), status_(status)
	{
	}
	philox_status status() const noexcept
	{
		return status_;
	}

      private:
	philox_status status_;
};

/* check() throws an error unless a call has succeeded. */
inline void check(philox_status status)
{
	if (status != PHILOX_OK)
		throw error(status);
}

#endif

/* handle owns an object that Destroy(object) destroys. */
template <class Object, auto Destroy> class handle
{
      public:
	handle() noexcept = default;
	explicit handle(Object object) noexcept : object_(object)
	{
	}
	handle(handle &&other) noexcept : object_(other.release())
	{
	}
	handle &operator=(handle &&other) noexcept
	{
		if (this != &other)
			reset(other.release());
		return *this;
	}
	~handle()
	{
		reset();
	}
	handle(const handle &) = delete;
	handle &operator=(const handle &) = delete;

	/* get() returns the object, which is still owned. */
	Object get() const noexcept
	{
		return object_;
	}
	operator Object() const noexcept
	{
		return object_;
	}
	/* put() destroys what is owned; a C function writes its successor. */
	Object *put() noexcept
	{
		reset();
		return &object_;
	}
	/* release() returns the object, which is no longer owned. */
	Object release() noexcept
	{
		return std::exchange(object_, Object());
	}
	/* reset() destroys what is owned and owns `object` from now on. */
	void reset(Object object = Object()) noexcept
	{
		Object old = std::exchange(object_, object);

		if (old)
			static_cast<void>(Destroy(old));
	}

      private:
	Object object_ = Object();
};

using device = handle<philox_device *, philox_device_close>;
using context = handle<philox_context *, philox_context_destroy>;
using generator = handle<philox_generator *, philox_generator_destroy>;
using region = handle<philox_region *, philox_region_destroy>;
using graph = handle<philox_graph *, philox_graph_destroy>;
using rows = handle<philox_rows *, philox_rows_destroy>;
using data = handle<philox_data *, philox_data_destroy>;
using pool = handle<philox_pool *, philox_pool_destroy>;
using runner = handle<philox_runner *, philox_runner_destroy>;
using function = handle<philox_function *, philox_function_destroy>;
using pool_checkpoint =
	handle<philox_pool_checkpoint *, philox_pool_checkpoint_destroy>;

/* device_handle owns an object that Destroy(device, object) destroys. */
template <class Object, auto Destroy> class device_handle
{
      public:
	explicit device_handle(philox_device *device) noexcept : device_(device)
	{
	}
	device_handle(device_handle &&other) noexcept
	    : device_(other.device_), object_(other.release())
	{
	}
	device_handle &operator=(device_handle &&other) noexcept
	{
		if (this != &other) {
			reset();
			device_ = other.device_;
			object_ = other.release();
		}
		return *this;
	}
	~device_handle()
	{
		reset();
	}
	device_handle(const device_handle &) = delete;
	device_handle &operator=(const device_handle &) = delete;

	Object get() const noexcept
	{
		return object_;
	}
	operator Object() const noexcept
	{
		return object_;
	}
	Object *put() noexcept
	{
		reset();
		return &object_;
	}
	Object release() noexcept
	{
		return std::exchange(object_, Object());
	}
	void reset() noexcept
	{
		Object old = release();

		if (old)
			static_cast<void>(Destroy(device_, old));
	}

      private:
	philox_device *device_;
	Object object_ = Object();
};

using stream = device_handle<philox_stream, philox_stream_destroy>;
using event = device_handle<philox_event, philox_event_destroy>;
using native_graph =
	device_handle<philox_native_graph, philox_native_graph_destroy>;
using native_exec =
	device_handle<philox_native_exec, philox_native_exec_destroy>;

/* memory owns device memory; as<float>() is its address as an array. */
class memory : public device_handle<void *, philox_memory_free>
{
      public:
	using device_handle::device_handle;

	template <class Element> Element *as() const noexcept
	{
		return static_cast<Element *>(get());
	}
};

/* pass aborts a pass that is still open when it goes. */
class pass
{
      public:
	pass() noexcept = default;
	pass(pass &&other) noexcept : pass_(other.pass_)
	{
		other.pass_.region = nullptr;
	}
	pass &operator=(pass &&other) noexcept
	{
		if (this != &other) {
			*put() = other.pass_;
			other.pass_.region = nullptr;
		}
		return *this;
	}
	~pass()
	{
		put();
	}
	pass(const pass &) = delete;
	pass &operator=(const pass &) = delete;

	/* The pass, for all functions that take one. */
	operator philox_pass *() noexcept
	{
		return &pass_;
	}
	operator const philox_pass *() const noexcept
	{
		return &pass_;
	}
	/* put() aborts an open pass; a begin writes its successor. */
	philox_pass *put() noexcept
	{
		if (pass_.region)
			static_cast<void>(philox_pass_abort(&pass_));
		return &pass_;
	}

      private:
	philox_pass pass_ = philox_pass();
};

/*
 * output releases an output of a runner, on a stream. The stream and the runner
 * must outlive it. An output that was tied, or belongs to a step, may be
 * released by then: release() gives up the handle and leaves the output alone.
 */
class output
{
      public:
	output(philox_runner *runner, philox_stream stream) noexcept
	    : runner_(runner), stream_(stream)
	{
	}
	output(output &&other) noexcept
	    : runner_(other.runner_), stream_(other.stream_),
	      output_(other.release())
	{
	}
	output &operator=(output &&other) noexcept
	{
		if (this != &other) {
			reset();
			runner_ = other.runner_;
			stream_ = other.stream_;
			output_ = other.release();
		}
		return *this;
	}
	~output()
	{
		reset();
	}
	output(const output &) = delete;
	output &operator=(const output &) = delete;

	/* The output, for all functions that take one. */
	operator const philox_output *() const noexcept
	{
		return &output_;
	}
	const philox_output *operator->() const noexcept
	{
		return &output_;
	}
	/* True if an output is owned. */
	explicit operator bool() const noexcept
	{
		return output_.generation != 0;
	}
	template <class Element> Element *as() const noexcept
	{
		return static_cast<Element *>(output_.address);
	}
	/* put() releases what is owned; a call writes its successor. */
	philox_output *put() noexcept
	{
		reset();
		return &output_;
	}
	/* release() returns the output, which is no longer owned. */
	philox_output release() noexcept
	{
		return std::exchange(output_, philox_output());
	}
	/* reset() releases what is owned and owns `next` from now on. */
	void reset(const philox_output &next = philox_output()) noexcept
	{
		const philox_output old = std::exchange(output_, next);

		if (old.generation)
			static_cast<void>(
				philox_output_release(runner_, stream_, &old));
	}

      private:
	philox_runner *runner_;
	philox_stream stream_;
	philox_output output_ = philox_output();
};

/*
 * pool_session ends a pool's session. If end() has not been called, the
 * destructor ends it with PHILOX_ERROR_STATE: the capture or warm-up has
 * failed, and the pool's blocks are as they were at the session's begin.
 */
class pool_session
{
      public:
	pool_session() noexcept = default;
	pool_session(pool_session &&other) noexcept : session_(other.release())
	{
	}
	pool_session &operator=(pool_session &&other) noexcept
	{
		if (this != &other) {
			put();
			session_ = other.release();
		}
		return *this;
	}
	~pool_session()
	{
		put();
	}
	pool_session(const pool_session &) = delete;
	pool_session &operator=(const pool_session &) = delete;

	philox_pool_session *get() const noexcept
	{
		return session_;
	}
	operator philox_pool_session *() const noexcept
	{
		return session_;
	}
	/* put() ends an open session as failed; a begin writes its successor. */
	philox_pool_session **put() noexcept
	{
		if (session_)
			static_cast<void>(end(PHILOX_ERROR_STATE));
		session_ = nullptr;
		return &session_;
	}
	/* release() returns the session, which is no longer owned. */
	philox_pool_session *release() noexcept
	{
		return std::exchange(session_, nullptr);
	}
	/*
	 * end() ends the session as philox_pool_session_end() does. After an
	 * error that leaves the session open, it is still owned.
	 */
	philox_status end(philox_status went,
			  philox_pool_session_stats *report = nullptr) noexcept
	{
		const philox_status status =
			philox_pool_session_end(session_, went, report);

		if (status == PHILOX_OK ||
		    status == PHILOX_ERROR_CAPTURE_INVALIDATED)
			session_ = nullptr;
		return status;
	}

      private:
	philox_pool_session *session_ = nullptr;
};

} // namespace philox

#endif
