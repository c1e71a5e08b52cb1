-- How rollups are kept: 'per_series', in tables that are recomputed for each touched series, or 'continuous', as continuous
-- aggregates. A start with another ROLLUP_STRATEGY converts them.
create table rollup_strategy (
  only_row boolean not null default true,
  strategy text not null default 'per_series' constraint rollup_strategy_known check (strategy in ('continuous', 'per_series')),
  -- From here on there are rollups of one and of five minutes, too; null = there are none.
  minutes_from timestamptz,
  constraint rollup_strategy_pkey primary key (only_row),
  constraint rollup_strategy_one_row check (only_row)
);
insert into rollup_strategy default values;
