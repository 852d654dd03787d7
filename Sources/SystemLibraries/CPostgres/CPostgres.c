// System headers come before the pragma below: their functions are external.
#include <dlfcn.h>
#include <pthread.h>

// Hidden visibility: libpq has functions of the same names and keeps calling its own.
#pragma GCC visibility push(hidden)
#include "CPostgres.h"

// The libpq functions in use; each forwards to the library's function once the library is loaded.
// Columns: result, name, parameters, arguments.
#define FUNCTIONS(F) \
  F(PGconn *, PQconnectStartParams, \
    (const char *const *keywords, const char *const *values, int expand), \
    (keywords, values, expand)) \
  F(PostgresPollingStatusType, PQconnectPoll, (PGconn * session), (session)) \
  F(ConnStatusType, PQstatus, (const PGconn *session), (session)) \
  F(PGTransactionStatusType, PQtransactionStatus, (const PGconn *session), (session)) \
  F(char *, PQerrorMessage, (const PGconn *session), (session)) \
  F(int, PQsocket, (const PGconn *session), (session)) \
  F(int, PQbackendPID, (const PGconn *session), (session)) \
  F(PGVerbosity, PQsetErrorVerbosity, (PGconn * session, PGVerbosity verbosity), \
    (session, verbosity)) \
  F(PQnoticeReceiver, PQsetNoticeReceiver, \
    (PGconn * session, PQnoticeReceiver receiver, void *context), (session, receiver, context)) \
  F(int, PQsetnonblocking, (PGconn * session, int is), (session, is)) \
  F(int, PQenterPipelineMode, (PGconn * session), (session)) \
  F(int, PQsendPrepare, \
    (PGconn * session, const char *name, const char *query, int count, const Oid *types), \
    (session, name, query, count, types)) \
  F(int, PQsendQueryParams, \
    (PGconn * session, const char *query, int count, const Oid *types, const char *const *values, \
     const int *lengths, const int *formats, int result), \
    (session, query, count, types, values, lengths, formats, result)) \
  F(int, PQsendQueryPrepared, \
    (PGconn * session, const char *name, int count, const char *const *values, const int *lengths, \
     const int *formats, int result), \
    (session, name, count, values, lengths, formats, result)) \
  F(int, PQpipelineSync, (PGconn * session), (session)) \
  F(int, PQflush, (PGconn * session), (session)) \
  F(int, PQisBusy, (PGconn * session), (session)) \
  F(int, PQconsumeInput, (PGconn * session), (session)) \
  F(PGresult *, PQgetResult, (PGconn * session), (session)) \
  F(PGnotify *, PQnotifies, (PGconn * session), (session)) \
  F(ExecStatusType, PQresultStatus, (const PGresult *result), (result)) \
  F(char *, PQresultErrorField, (const PGresult *result, int field), (result, field)) \
  F(int, PQntuples, (const PGresult *result), (result)) \
  F(char *, PQgetvalue, (const PGresult *result, int row, int column), (result, row, column)) \
  F(int, PQgetlength, (const PGresult *result, int row, int column), (result, row, column)) \
  F(int, PQgetisnull, (const PGresult *result, int row, int column), (result, row, column)) \
  F(char *, PQcmdStatus, (PGresult * result), (result)) \
  F(char *, PQcmdTuples, (PGresult * result), (result))

#define PROCEDURES(F) \
  F(PQfinish, (PGconn * session), (session)) \
  F(PQclear, (PGresult * result), (result)) \
  F(PQfreemem, (void *memory), (memory))

#define DEFINE(type, name, parameters, arguments) \
  static type(*own_##name) parameters; \
  type name parameters { return own_##name arguments; }
#define DEFINE_PROCEDURE(name, parameters, arguments) \
  static void(*own_##name) parameters; \
  void name parameters { own_##name arguments; }
FUNCTIONS(DEFINE)
PROCEDURES(DEFINE_PROCEDURE)

static const char *trouble;

static void load(void) {
  void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    const char *reason = dlerror();
    trouble = reason ? reason : "libpq.so.5 cannot be loaded";
    return;
  }
#define FIND(type, name, parameters, arguments) FIND_PROCEDURE(name, parameters, arguments)
#define FIND_PROCEDURE(name, parameters, arguments) \
  if (!(*(void **)&own_##name = dlsym(library, #name))) trouble = "it is too old: no " #name;
  FUNCTIONS(FIND)
  PROCEDURES(FIND_PROCEDURE)
}

const char *lockstep_postgres_load(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return trouble;
}

#pragma GCC visibility pop
