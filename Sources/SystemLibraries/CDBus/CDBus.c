#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "CDBus.h"

// The part of libdbus's interface in use, which has been stable since version 1.0. Its headers are
// not required: their folder depends on the architecture.
typedef uint32_t dbus_bool_t;
typedef struct DBusConnection DBusConnection;
typedef struct DBusMessage DBusMessage;
typedef struct {
  const char *name;
  const char *message;
  unsigned flags;
  void *padding;
} DBusError;
/// The library's is smaller.
typedef struct {
  void *reserved[16];
} DBusMessageIter;

enum {
  NAME_FLAG_DO_NOT_QUEUE = 4,
  NAME_REPLY_PRIMARY_OWNER = 1,
  NAME_REPLY_ALREADY_OWNER = 4,
  MESSAGE_METHOD_CALL = 1,
  MESSAGE_METHOD_RETURN = 2,
  MESSAGE_ERROR = 3,
  MESSAGE_SIGNAL = 4,
};

// Columns: result, name, parameters.
#define FUNCTIONS(F) \
  F(void, dbus_error_init, (DBusError *)) \
  F(void, dbus_error_free, (DBusError *)) \
  F(DBusConnection *, dbus_connection_open_private, (const char *, DBusError *)) \
  F(void, dbus_connection_close, (DBusConnection *)) \
  F(void, dbus_connection_unref, (DBusConnection *)) \
  F(dbus_bool_t, dbus_connection_has_messages_to_send, (DBusConnection *)) \
  F(void, dbus_connection_set_exit_on_disconnect, (DBusConnection *, dbus_bool_t)) \
  F(void, dbus_connection_set_max_received_size, (DBusConnection *, long)) \
  F(void, dbus_connection_set_max_message_size, (DBusConnection *, long)) \
  F(dbus_bool_t, dbus_connection_get_is_connected, (DBusConnection *)) \
  F(dbus_bool_t, dbus_connection_get_unix_fd, (DBusConnection *, int *)) \
  F(dbus_bool_t, dbus_connection_read_write, (DBusConnection *, int)) \
  F(dbus_bool_t, dbus_connection_send, (DBusConnection *, DBusMessage *, uint32_t *)) \
  F(DBusMessage *, dbus_connection_pop_message, (DBusConnection *)) \
  F(DBusMessage *, dbus_message_new_method_call, \
    (const char *, const char *, const char *, const char *)) \
  F(DBusMessage *, dbus_message_new_method_return, (DBusMessage *)) \
  F(DBusMessage *, dbus_message_new_error, (DBusMessage *, const char *, const char *)) \
  F(void, dbus_message_unref, (DBusMessage *)) \
  F(int, dbus_message_get_type, (DBusMessage *)) \
  F(uint32_t, dbus_message_get_reply_serial, (DBusMessage *)) \
  F(const char *, dbus_message_get_error_name, (DBusMessage *)) \
  F(dbus_bool_t, dbus_message_get_no_reply, (DBusMessage *)) \
  F(void, dbus_message_set_no_reply, (DBusMessage *, dbus_bool_t)) \
  F(dbus_bool_t, dbus_message_is_method_call, (DBusMessage *, const char *, const char *)) \
  F(dbus_bool_t, dbus_message_is_signal, (DBusMessage *, const char *, const char *)) \
  F(dbus_bool_t, dbus_message_has_path, (DBusMessage *, const char *)) \
  F(dbus_bool_t, dbus_message_has_sender, (DBusMessage *, const char *)) \
  F(dbus_bool_t, dbus_message_has_signature, (DBusMessage *, const char *)) \
  F(dbus_bool_t, dbus_message_iter_init, (DBusMessage *, DBusMessageIter *)) \
  F(void, dbus_message_iter_init_append, (DBusMessage *, DBusMessageIter *)) \
  F(dbus_bool_t, dbus_message_iter_next, (DBusMessageIter *)) \
  F(int, dbus_message_iter_get_arg_type, (DBusMessageIter *)) \
  F(int, dbus_message_iter_get_element_type, (DBusMessageIter *)) \
  F(void, dbus_message_iter_recurse, (DBusMessageIter *, DBusMessageIter *)) \
  F(void, dbus_message_iter_get_basic, (DBusMessageIter *, void *)) \
  F(void, dbus_message_iter_get_fixed_array, (DBusMessageIter *, void *, int *)) \
  F(dbus_bool_t, dbus_message_iter_append_basic, (DBusMessageIter *, int, const void *)) \
  F(dbus_bool_t, dbus_message_iter_open_container, \
    (DBusMessageIter *, int, const char *, DBusMessageIter *)) \
  F(dbus_bool_t, dbus_message_iter_close_container, (DBusMessageIter *, DBusMessageIter *))

#define DEFINE(type, name, parameters) static type(*name) parameters;
FUNCTIONS(DEFINE)

static const char *trouble;

static void load(void) {
  void *library = dlopen("libdbus-1.so.3", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    // The text of dlerror lasts only until the thread's next call or its end.
    static char text[512];
    const char *reason = dlerror();
    snprintf(text, sizeof text, "%s", reason ? reason : "libdbus-1.so.3 cannot be loaded");
    trouble = text;
    return;
  }
#define FIND(type, name, parameters) \
  if (!(*(void **)&name = dlsym(library, #name))) trouble = "it is too old: no " #name;
  FUNCTIONS(FIND)
}

const char *lockstep_bus_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return trouble;
}

static const char *const bus_name = "org.freedesktop.DBus";
static const char *const bus_path = "/org/freedesktop/DBus";
static const char *const distributor_path = "/org/unifiedpush/Distributor";
static const char *const connector_path = "/org/unifiedpush/Connector";
static const char *const distributors = "org.unifiedpush.Distributor";

enum {
  /// A push has at most 4,096 bytes; other messages are lists of the bus's names. libdbus ends the
  /// connection at a longer message: it does not read past one.
  MESSAGE_BYTES = 1 << 20,
  /// Time for an answer of the bus itself.
  BUS_MILLISECONDS = 10000,
  /// Time for sending what no answer is awaited for.
  FLUSH_MILLISECONDS = 2000,
  DISTRIBUTORS_MAX = 32,
  /// Messages that may come before an awaited answer.
  WAITING_MAX = 64,
};

struct lockstep_bus {
  DBusConnection *connection;
  /// Name on the bus, which distributors call.
  char *service;
  /// The message that the last event points into.
  DBusMessage *held;
  /// Messages that came before an awaited answer; the next one is at `waiting_first`.
  DBusMessage *waiting[WAITING_MAX];
  size_t waiting_first, waiting_end;
};

static void copy(const char *text, char *target, size_t capacity) {
  snprintf(target, capacity, "%s", text ? text : "out of memory");
}

// Appending to a message.

static bool append_text(DBusMessageIter *iter, const char *text) {
  return dbus_message_iter_append_basic(iter, 's', &text);
}

/// `names_and_values`: name and value in turn.
static bool append_dictionary(
    DBusMessageIter *iter, const char *const *names_and_values, size_t count) {
  DBusMessageIter dictionary, entry, variant;
  if (!dbus_message_iter_open_container(iter, 'a', "{sv}", &dictionary)) return false;
  for (size_t index = 0; index < count; index += 2) {
    if (!dbus_message_iter_open_container(&dictionary, 'e', NULL, &entry)
        || !append_text(&entry, names_and_values[index])
        || !dbus_message_iter_open_container(&entry, 'v', "s", &variant)
        || !append_text(&variant, names_and_values[index + 1])
        || !dbus_message_iter_close_container(&entry, &variant)
        || !dbus_message_iter_close_container(&dictionary, &entry))
      return false;
  }
  return dbus_message_iter_close_container(iter, &dictionary);
}

// Reading a message.

static const char *text_at(DBusMessageIter *iter) {
  const char *text = NULL;
  if (dbus_message_iter_get_arg_type(iter) == 's') dbus_message_iter_get_basic(iter, &text);
  return text;
}

static void bytes_at(DBusMessageIter *iter, struct lockstep_bus_event *event) {
  if (dbus_message_iter_get_arg_type(iter) != 'a'
      || dbus_message_iter_get_element_type(iter) != 'y')
    return;
  DBusMessageIter elements;
  const uint8_t *bytes = NULL;
  int count = 0;
  dbus_message_iter_recurse(iter, &elements);
  dbus_message_iter_get_fixed_array(&elements, &bytes, &count);
  if (count < 0) return;
  event->bytes = bytes;
  event->count = (size_t)count;
}

/// Finds a value of the dictionary that is the message's first argument.
static bool find_value(DBusMessage *message, const char *name, DBusMessageIter *value) {
  DBusMessageIter iter, dictionary, entry;
  if (!dbus_message_iter_init(message, &iter)
      || dbus_message_iter_get_arg_type(&iter) != 'a'
      || dbus_message_iter_get_element_type(&iter) != 'e')
    return false;
  dbus_message_iter_recurse(&iter, &dictionary);
  while (dbus_message_iter_get_arg_type(&dictionary) == 'e') {
    dbus_message_iter_recurse(&dictionary, &entry);
    const char *found = text_at(&entry);
    if (found && strcmp(found, name) == 0 && dbus_message_iter_next(&entry)
        && dbus_message_iter_get_arg_type(&entry) == 'v') {
      dbus_message_iter_recurse(&entry, value);
      return true;
    }
    dbus_message_iter_next(&dictionary);
  }
  return false;
}

static const char *text_value(DBusMessage *message, const char *name) {
  DBusMessageIter value;
  return find_value(message, name, &value) ? text_at(&value) : NULL;
}

// Sending. libdbus's own calls that wait first wait for the message to be sent, without a limit: a
// bus that has stopped, or does not authenticate, would hold the thread for ever.

static int64_t milliseconds_now(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/// Sends what is queued. Returns false if the bus did not take it in time.
static bool flush(lockstep_bus *bus) {
  int64_t end = milliseconds_now() + FLUSH_MILLISECONDS;
  while (dbus_connection_has_messages_to_send(bus->connection)) {
    int64_t left = end - milliseconds_now();
    if (left <= 0 || !dbus_connection_get_is_connected(bus->connection)) return false;
    dbus_connection_read_write(bus->connection, (int)left);
  }
  return true;
}

/// Makes place for messages; returns true if there is some.
static bool has_place(lockstep_bus *bus) {
  size_t count = bus->waiting_end - bus->waiting_first;
  memmove(bus->waiting, bus->waiting + bus->waiting_first, count * sizeof *bus->waiting);
  bus->waiting_first = 0;
  bus->waiting_end = count;
  return count < WAITING_MAX;
}

/// The message that came first and was not returned yet; NULL if there is none.
static DBusMessage *next_message(lockstep_bus *bus) {
  return bus->waiting_first < bus->waiting_end
      ? bus->waiting[bus->waiting_first++] : dbus_connection_pop_message(bus->connection);
}

static bool is_answer(DBusMessage *message, uint32_t serial) {
  int type = dbus_message_get_type(message);
  return (type == MESSAGE_METHOD_RETURN || type == MESSAGE_ERROR)
      && dbus_message_get_reply_serial(message) == serial;
}

/// Sends a call, which it releases, and waits for the answer, which may be an error. Returns NULL
/// after a failure, with the reason in `reason`.
static DBusMessage *answer_to(
    lockstep_bus *bus, DBusMessage *call, int milliseconds, char *reason, size_t capacity) {
  uint32_t serial = 0;
  bool is_queued = call && dbus_connection_send(bus->connection, call, &serial);
  if (call) dbus_message_unref(call);
  if (!is_queued) return copy(NULL, reason, capacity), NULL;
  for (int64_t end = milliseconds_now() + milliseconds;;) {
    DBusMessage *message;
    while (has_place(bus) && (message = dbus_connection_pop_message(bus->connection))) {
      if (is_answer(message, serial)) return message;
      bus->waiting[bus->waiting_end++] = message;
    }
    int64_t left = end - milliseconds_now();
    if (!has_place(bus))
      return copy("too many other messages came before the answer", reason, capacity), NULL;
    if (!dbus_connection_get_is_connected(bus->connection))
      return copy("the connection to the bus has ended", reason, capacity), NULL;
    if (left <= 0)
      return snprintf(reason, capacity, "no answer came within %d s", milliseconds / 1000), NULL;
    dbus_connection_read_write(bus->connection, (int)left);
  }
}

/// Writes the text of an error. Returns false if the answer is none.
static bool read_error(DBusMessage *answer, char *reason, size_t capacity) {
  if (dbus_message_get_type(answer) != MESSAGE_ERROR) return false;
  DBusMessageIter iter;
  const char *text = dbus_message_iter_init(answer, &iter) ? text_at(&iter) : NULL;
  const char *name = dbus_message_get_error_name(answer);
  copy(text ? text : name ? name : "it answered with an error", reason, capacity);
  return true;
}

/// Calls the bus itself, with a text unless it is NULL, and with `flags` unless they are 0. Returns
/// NULL after a failure or an error, with the reason in `reason`.
static DBusMessage *answer_of_bus(
    lockstep_bus *bus, const char *method, const char *text, uint32_t flags, char *reason,
    size_t capacity) {
  DBusMessage *call = dbus_message_new_method_call(bus_name, bus_path, bus_name, method);
  if (!call) return copy(NULL, reason, capacity), NULL;
  DBusMessageIter iter;
  dbus_message_iter_init_append(call, &iter);
  if ((text && !append_text(&iter, text))
      || (flags && !dbus_message_iter_append_basic(&iter, 'u', &flags))) {
    dbus_message_unref(call);
    return copy(NULL, reason, capacity), NULL;
  }
  DBusMessage *answer = answer_to(bus, call, BUS_MILLISECONDS, reason, capacity);
  if (!answer || !read_error(answer, reason, capacity)) return answer;
  dbus_message_unref(answer);
  return NULL;
}

// Opening and closing.

/// Introduces the connection to the bus, and takes its name.
static bool introduce(lockstep_bus *bus, char *reason, size_t capacity) {
  DBusMessage *answer = answer_of_bus(bus, "Hello", NULL, 0, reason, capacity);
  if (!answer) return false;
  dbus_message_unref(answer);
  answer = answer_of_bus(
      bus, "AddMatch",
      "type='signal',sender='org.freedesktop.DBus',interface='org.freedesktop.DBus',"
      "member='NameOwnerChanged',arg0namespace='org.unifiedpush.Distributor'",
      0, reason, capacity);
  if (!answer) return false;
  dbus_message_unref(answer);
  answer = answer_of_bus(
      bus, "RequestName", bus->service, NAME_FLAG_DO_NOT_QUEUE, reason, capacity);
  if (!answer) return false;
  uint32_t owner = 0;
  DBusMessageIter iter;
  if (dbus_message_has_signature(answer, "u") && dbus_message_iter_init(answer, &iter))
    dbus_message_iter_get_basic(&iter, &owner);
  dbus_message_unref(answer);
  if (owner == NAME_REPLY_PRIMARY_OWNER || owner == NAME_REPLY_ALREADY_OWNER) return true;
  copy("another process has this device's name there", reason, capacity);
  return false;
}

lockstep_bus *lockstep_bus_open(
    const char *address, const char *name, char *reason, size_t capacity) {
  DBusError error;
  dbus_error_init(&error);
  DBusConnection *connection = dbus_connection_open_private(address, &error);
  if (!connection) {
    copy(error.message, reason, capacity);
    dbus_error_free(&error);
    return NULL;
  }
  dbus_connection_set_exit_on_disconnect(connection, false);
  dbus_connection_set_max_message_size(connection, MESSAGE_BYTES);
  dbus_connection_set_max_received_size(connection, MESSAGE_BYTES);
  lockstep_bus *bus = calloc(1, sizeof *bus);
  char *service = bus ? strdup(name) : NULL;
  if (!service) {
    free(bus);
    dbus_connection_close(connection);
    dbus_connection_unref(connection);
    return copy(NULL, reason, capacity), NULL;
  }
  bus->connection = connection;
  bus->service = service;
  if (introduce(bus, reason, capacity)) return bus;
  lockstep_bus_close(bus);
  return NULL;
}

static void release(lockstep_bus *bus) {
  if (bus->held) dbus_message_unref(bus->held);
  bus->held = NULL;
}

void lockstep_bus_close(lockstep_bus *bus) {
  release(bus);
  while (bus->waiting_first < bus->waiting_end)
    dbus_message_unref(bus->waiting[bus->waiting_first++]);
  dbus_connection_close(bus->connection);
  dbus_connection_unref(bus->connection);
  free(bus->service);
  free(bus);
}

int lockstep_bus_descriptor(lockstep_bus *bus) {
  int descriptor = -1;
  return dbus_connection_get_unix_fd(bus->connection, &descriptor) ? descriptor : -1;
}

// Distributors.

static bool is_distributor(const char *name) {
  size_t length = strlen(distributors);
  return strncmp(name, distributors, length) == 0 && name[length] == '.';
}

/// True if `names`, lines that each end with a newline, have `name`.
static bool has_line(const char *names, const char *name) {
  size_t length = strlen(name);
  for (const char *line = names; (line = strstr(line, name)); line += length) {
    if ((line == names || line[-1] == '\n') && line[length] == '\n') return true;
  }
  return false;
}

static bool append_names(
    lockstep_bus *bus, const char *method, char *names, size_t capacity, int *left, char *reason,
    size_t reason_capacity) {
  DBusMessage *answer = answer_of_bus(bus, method, NULL, 0, reason, reason_capacity);
  if (!answer) return false;
  DBusMessageIter iter, list;
  if (dbus_message_has_signature(answer, "as") && dbus_message_iter_init(answer, &iter)) {
    dbus_message_iter_recurse(&iter, &list);
    const char *name;
    for (; (name = text_at(&list)) && *left > 0; dbus_message_iter_next(&list)) {
      size_t used = strlen(names), added = strlen(name) + 1;
      if (!is_distributor(name) || has_line(names, name) || used + added >= capacity) continue;
      snprintf(names + used, capacity - used, "%s\n", name);
      *left -= 1;
    }
  }
  dbus_message_unref(answer);
  return true;
}

bool lockstep_bus_distributors(
    lockstep_bus *bus, char *names, size_t capacity, char *reason, size_t reason_capacity) {
  int left = DISTRIBUTORS_MAX;
  names[0] = 0;
  return append_names(bus, "ListNames", names, capacity, &left, reason, reason_capacity)
      && append_names(
          bus, "ListActivatableNames", names, capacity, &left, reason, reason_capacity);
}

// Registrations.

static DBusMessage *registration_call(
    lockstep_bus *bus, const char *distributor, int version, const char *token,
    const char *description, const char *vapid) {
  DBusMessage *call = dbus_message_new_method_call(
      distributor, distributor_path,
      version == 2 ? "org.unifiedpush.Distributor2" : "org.unifiedpush.Distributor1", "Register");
  if (!call) return NULL;
  DBusMessageIter iter;
  dbus_message_iter_init_append(call, &iter);
  const char *const fields[] = {
    "service", bus->service, "token", token, "description", description, "vapid", vapid,
  };
  bool is_complete = version == 2
      ? append_dictionary(&iter, fields, sizeof fields / sizeof *fields)
      : append_text(&iter, bus->service) && append_text(&iter, token)
          && append_text(&iter, description);
  if (is_complete) return call;
  dbus_message_unref(call);
  return NULL;
}

static enum lockstep_bus_registration registration_result(
    DBusMessage *answer, int version, char *text, size_t capacity) {
  const char *result = NULL, *reason = NULL;
  if (version == 2) {
    result = text_value(answer, "success");
    reason = text_value(answer, "reason");
  } else {
    DBusMessageIter iter;
    if (dbus_message_iter_init(answer, &iter)) {
      result = text_at(&iter);
      if (dbus_message_iter_next(&iter)) reason = text_at(&iter);
    }
  }
  copy(reason ? reason : "", text, capacity);
  if (!result) {
    copy("it gave an answer of another form", text, capacity);
    return LOCKSTEP_BUS_FAILED;
  }
  return strcmp(result, "REGISTRATION_SUCCEEDED") == 0 || strcmp(result, "NEW_ENDPOINT") == 0
      ? LOCKSTEP_BUS_REGISTERED : LOCKSTEP_BUS_REFUSED;
}

/// True if the answer says that there is no such method.
static bool is_unknown(DBusMessage *answer) {
  const char *name = dbus_message_get_error_name(answer);
  return name
      && (strcmp(name, "org.freedesktop.DBus.Error.UnknownMethod") == 0
          || strcmp(name, "org.freedesktop.DBus.Error.UnknownInterface") == 0);
}

enum lockstep_bus_registration lockstep_bus_register(
    lockstep_bus *bus, const char *distributor, const char *token, const char *description,
    const char *vapid, int milliseconds, char *text, size_t capacity) {
  for (int version = 2;; version--) {
    DBusMessage *call =
        registration_call(bus, distributor, version, token, description, vapid);
    DBusMessage *answer = answer_to(bus, call, milliseconds, text, capacity);
    if (!answer) return LOCKSTEP_BUS_FAILED;
    bool has_older = version == 2 && is_unknown(answer);
    enum lockstep_bus_registration result = read_error(answer, text, capacity)
        ? LOCKSTEP_BUS_FAILED : registration_result(answer, version, text, capacity);
    dbus_message_unref(answer);
    if (!has_older) return result;
  }
}

static DBusMessage *unregistration_call(const char *distributor, int version, const char *token) {
  DBusMessage *call = dbus_message_new_method_call(
      distributor, distributor_path,
      version == 2 ? "org.unifiedpush.Distributor2" : "org.unifiedpush.Distributor1",
      "Unregister");
  if (!call) return NULL;
  DBusMessageIter iter;
  dbus_message_iter_init_append(call, &iter);
  const char *const fields[] = {"token", token};
  if (version == 2 ? append_dictionary(&iter, fields, 2) : append_text(&iter, token)) return call;
  dbus_message_unref(call);
  return NULL;
}

bool lockstep_bus_unregister(
    lockstep_bus *bus, const char *distributor, const char *token, char *reason, size_t capacity) {
  DBusMessage *answer = answer_to(
      bus, unregistration_call(distributor, 2, token), BUS_MILLISECONDS, reason, capacity);
  if (!answer) return false;
  bool has_older = is_unknown(answer), has_failed = read_error(answer, reason, capacity);
  dbus_message_unref(answer);
  if (!has_older) return !has_failed;
  // Version 1 has no answer.
  DBusMessage *call = unregistration_call(distributor, 1, token);
  if (!call) return copy(NULL, reason, capacity), false;
  dbus_message_set_no_reply(call, true);
  bool is_sent = dbus_connection_send(bus->connection, call, NULL) && flush(bus);
  dbus_message_unref(call);
  if (!is_sent) copy("the bus does not take the message", reason, capacity);
  return is_sent;
}

// Events.

static const char *const introspection =
    "<!DOCTYPE node PUBLIC \"-//freedesktop//DTD D-BUS Object Introspection 1.0//EN\" "
    "\"http://www.freedesktop.org/standards/dbus/1.0/introspect.dtd\">\n<node>"
    "<interface name=\"org.unifiedpush.Connector1\">"
    "<method name=\"Message\"><arg type=\"s\" direction=\"in\"/>"
    "<arg type=\"ay\" direction=\"in\"/><arg type=\"s\" direction=\"in\"/></method>"
    "<method name=\"NewEndpoint\"><arg type=\"s\" direction=\"in\"/>"
    "<arg type=\"s\" direction=\"in\"/></method>"
    "<method name=\"Unregistered\"><arg type=\"s\" direction=\"in\"/></method></interface>"
    "<interface name=\"org.unifiedpush.Connector2\">"
    "<method name=\"Message\"><arg type=\"a{sv}\" direction=\"in\"/>"
    "<arg type=\"a{sv}\" direction=\"out\"/></method>"
    "<method name=\"NewEndpoint\"><arg type=\"a{sv}\" direction=\"in\"/>"
    "<arg type=\"a{sv}\" direction=\"out\"/></method>"
    "<method name=\"Unregistered\"><arg type=\"a{sv}\" direction=\"in\"/>"
    "<arg type=\"a{sv}\" direction=\"out\"/></method></interface></node>";

/// The kind of a distributor's call; `nothing` for any other call.
static enum lockstep_bus_kind kind_of(DBusMessage *call, const char *interface) {
  if (dbus_message_is_method_call(call, interface, "NewEndpoint")) return LOCKSTEP_BUS_ENDPOINT;
  if (dbus_message_is_method_call(call, interface, "Message")) return LOCKSTEP_BUS_MESSAGE;
  if (dbus_message_is_method_call(call, interface, "Unregistered"))
    return LOCKSTEP_BUS_UNREGISTERED;
  return LOCKSTEP_BUS_NOTHING;
}

static struct lockstep_bus_event read_second_version(DBusMessage *call) {
  struct lockstep_bus_event event = {.kind = kind_of(call, "org.unifiedpush.Connector2")};
  DBusMessageIter value;
  event.token = text_value(call, "token");
  if (event.kind == LOCKSTEP_BUS_ENDPOINT) event.text = text_value(call, "endpoint");
  if (event.kind == LOCKSTEP_BUS_MESSAGE && find_value(call, "message", &value))
    bytes_at(&value, &event);
  return event;
}

static struct lockstep_bus_event read_first_version(DBusMessage *call) {
  struct lockstep_bus_event event = {.kind = kind_of(call, "org.unifiedpush.Connector1")};
  DBusMessageIter iter;
  if (event.kind == LOCKSTEP_BUS_NOTHING || !dbus_message_iter_init(call, &iter)) return event;
  event.token = text_at(&iter);
  if (!dbus_message_iter_next(&iter)) return event;
  if (event.kind == LOCKSTEP_BUS_ENDPOINT) event.text = text_at(&iter);
  if (event.kind == LOCKSTEP_BUS_MESSAGE) bytes_at(&iter, &event);
  return event;
}

static void answer_call(lockstep_bus *bus, DBusMessage *call, bool is_known, bool has_result) {
  if (dbus_message_get_no_reply(call)) return;
  const bool is_introspection = dbus_message_is_method_call(
      call, "org.freedesktop.DBus.Introspectable", "Introspect");
  const bool is_ping = dbus_message_is_method_call(call, "org.freedesktop.DBus.Peer", "Ping");
  DBusMessage *answer = is_known || is_introspection || is_ping
      ? dbus_message_new_method_return(call)
      : dbus_message_new_error(
          call, "org.freedesktop.DBus.Error.UnknownMethod", "a UnifiedPush connector is here");
  if (!answer) return;
  DBusMessageIter iter;
  dbus_message_iter_init_append(answer, &iter);
  bool is_complete = true;
  if (is_introspection) is_complete = append_text(&iter, introspection);
  if (has_result) {
    const char *id = text_value(call, "id");
    const char *const fields[] = {"id", id};
    is_complete = append_dictionary(&iter, fields, id ? 2 : 0);
  }
  if (is_complete) dbus_connection_send(bus->connection, answer, NULL);
  dbus_message_unref(answer);
  // What a bus that has stopped does not take now is sent when it is read from again.
  flush(bus);
}

static struct lockstep_bus_event read_call(lockstep_bus *bus, DBusMessage *call) {
  struct lockstep_bus_event event = {.kind = LOCKSTEP_BUS_NOTHING};
  bool is_second = false;
  if (dbus_message_has_path(call, connector_path)) {
    event = read_second_version(call);
    is_second = event.kind != LOCKSTEP_BUS_NOTHING;
    if (!is_second) event = read_first_version(call);
  }
  answer_call(bus, call, event.kind != LOCKSTEP_BUS_NOTHING, is_second);
  return event;
}

static struct lockstep_bus_event read_signal(DBusMessage *signal) {
  struct lockstep_bus_event event = {.kind = LOCKSTEP_BUS_NOTHING};
  DBusMessageIter iter;
  if (!dbus_message_is_signal(signal, bus_name, "NameOwnerChanged")
      || !dbus_message_has_sender(signal, bus_name)
      || !dbus_message_has_signature(signal, "sss") || !dbus_message_iter_init(signal, &iter))
    return event;
  event.text = text_at(&iter);
  dbus_message_iter_next(&iter);
  dbus_message_iter_next(&iter);
  const char *owner = text_at(&iter);
  if (!event.text || !owner || !is_distributor(event.text)) return event;
  event.kind = owner[0] ? LOCKSTEP_BUS_APPEARED : LOCKSTEP_BUS_LEFT;
  return event;
}

struct lockstep_bus_event lockstep_bus_next(lockstep_bus *bus) {
  struct lockstep_bus_event event = {.kind = LOCKSTEP_BUS_NOTHING};
  release(bus);
  dbus_connection_read_write(bus->connection, 0);
  while ((bus->held = next_message(bus))) {
    int type = dbus_message_get_type(bus->held);
    if (type == MESSAGE_METHOD_CALL) event = read_call(bus, bus->held);
    if (type == MESSAGE_SIGNAL) event = read_signal(bus->held);
    if (event.kind != LOCKSTEP_BUS_NOTHING) return event;
    release(bus);
  }
  if (!dbus_connection_get_is_connected(bus->connection)) event.kind = LOCKSTEP_BUS_ENDED;
  return event;
}
