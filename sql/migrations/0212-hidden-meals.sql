-- Meals can be deleted as workouts, nights and cycles can.
alter table hidden_item
  drop constraint hidden_item_kind,
  add constraint hidden_item_kind check (kind in ('workout', 'sleep', 'menstrual_cycle', 'meal'));
