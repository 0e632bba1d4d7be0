/* SPDX-License-Identifier: GPL-3.0-or-later */
/*
 * Azure LLM inference traces (Azure/AzurePublicDataset: AzureLLMInferenceTrace_*.csv). The trace has token counts but
 * no durations and no GPUs. The run time in seconds is context / prefill + generated / decode, each term rounded to a
 * microsecond. `prefill` and `decode`, in tokens per second, and the share of a GPU are parameters of the format.
 */

#include "traces/csv/csv.h"
#include "traces/formats/formats.h"

struct llm_request {
  int64_t timestamp_us;
  uint32_t context, generated; /* token counts */
};

#define REQUEST(member) offsetof(struct llm_request, member)
static const struct hr__csv_column columns[] = {
    {"TIMESTAMP", NULL, HR__INSTANT, true, true, REQUEST(timestamp_us), HR_SECOND_US},
    {"ContextTokens", NULL, HR__TOKENS, true, true, REQUEST(context), 0},
    {"GeneratedTokens", NULL, HR__TOKENS, true, true, REQUEST(generated), 0}};
#undef REQUEST

struct llm {
  struct hr__reader *reader;
  /* parameters: tokens per second in prefill and in decode; share of a GPU in thousandths */
  uint64_t prefill_per_s, decode_per_s, gpu_milli;
};

static int64_t tokens_us(uint32_t tokens, uint64_t per_s) {
  return (int64_t)(((uint64_t)tokens * (uint64_t)HR_SECOND_US + per_s / 2) / per_s);
}

static enum hr_status on_request(void *self, const void *data, uint64_t line) {
  const struct llm *llm = self;
  const struct llm_request *request = data;
  struct hr_job_record job;
  hr_job_record_init(&job);
  job.submit_us = request->timestamp_us;
  job.work_us = tokens_us(request->context, llm->prefill_per_s) + tokens_us(request->generated, llm->decode_per_s);
  job.gpus = 1;
  job.gpu_milli = (uint32_t)llm->gpu_milli;
  job.class_ = HR_CLASS_INFERENCE;
  return hr__reader_add(llm->reader, &job, line);
}

static enum hr_status note_speeds(const struct llm *llm) {
  bool given = llm->reader->params != NULL;
  enum hr_status status =
      hr_notes_add(llm->reader->notes,
                   "each request runs for its context / %llu + its generated tokens / %llu seconds on %llu thousandths "
                   "of a GPU%s (--format azure-llm:prefill=TOKENS_PER_S,decode=TOKENS_PER_S,gpu_milli=SHARE)",
                   (unsigned long long)llm->prefill_per_s, (unsigned long long)llm->decode_per_s,
                   (unsigned long long)llm->gpu_milli, given ? "" : " (assumed)");
  return status == HR_OK ? HR_OK : hr__reader_no_memory(llm->reader);
}

static enum hr_status read_azure_llm(struct hr__reader *reader) {
  /* Assumption: a model of about 70 G parameters on GPUs like H100, with 20 concurrent requests per GPU. See
     docs/reference/formats.md. */
  struct llm llm = {.reader = reader, .prefill_per_s = 10000, .decode_per_s = 50, .gpu_milli = 50};
  const struct hr__reader_param params[] = {{"prefill", 1, 1000000000, &llm.prefill_per_s, NULL},
                                            {"decode", 1, 1000000000, &llm.decode_per_s, NULL},
                                            {"gpu_milli", 1, 1000, &llm.gpu_milli, NULL}};
  static const struct llm_request blank = {0};
  struct llm_request row;
  const struct hr__csv_schema schema = {HR__CSV_ROWS(columns, row, blank, on_request, &llm),
                                        .missing_hint = "an Azure LLM inference trace has all of these columns"};
  enum hr_status status = hr__reader_params(reader, "azure-llm", params, sizeof params / sizeof *params);
  if (status == HR_OK) status = hr__csv_read_rows(reader, &schema);
  return status == HR_OK ? note_speeds(&llm) : status;
}

const struct hr__format_reader hr__azure_llm_reader = {
    .read = read_azure_llm, .has_params = true, .missing = "limits, users and waits"};
