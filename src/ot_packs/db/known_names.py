"""The functions and system tables that are known to only read, by engine: a statement that reads may use no others.

A server has functions that change data pages, read its files or stop other people's sessions, and each extension brings
more; a list of those is never complete. Tables of the person's own are not named here: a role decides about them.
"""

from __future__ import annotations

from ot_packs.db.statements import Engine

_COMMON = """
    abs acos ascii asin atan atan2 avg bit_and bit_count bit_length bit_or bit_xor cast ceil ceiling char char_length
    character_length chr coalesce concat concat_ws convert cos cot count cume_dist current_date current_time
    current_timestamp current_user date degrees dense_rank exp extract first_value floor format greatest if ifnull
    json_array json_array_length json_arrayagg json_exists json_object json_object_agg json_objectagg json_query
    json_table json_value lag last_value lcase lead least left length ln localtime localtimestamp log log10 lower lpad
    ltrim max md5 mid min mod now nth_value ntile nullif octet_length percent_rank percentile_cont percentile_disc pi
    position pow power quote radians rank regexp_instr regexp_like regexp_replace regexp_substr repeat replace reverse
    right round row_number rpad rtrim session_user sign sin sqrt st_area st_asbinary st_asewkt st_asgeojson st_astext
    st_azimuth st_boundary st_buffer st_centroid st_collect st_contains st_convexhull st_coveredby st_covers
    st_crosses st_difference st_dimension st_disjoint st_distance st_distance_sphere st_distancesphere st_dwithin
    st_endpoint st_envelope st_equals st_extent st_geogfromtext st_geohash st_geometryn st_geometrytype
    st_geomfromgeojson st_geomfromtext st_intersection st_intersects st_isempty st_issimple st_isvalid st_length
    st_makeenvelope st_makeline st_makepoint st_makevalid st_numgeometries st_numpoints st_overlaps st_perimeter
    st_point st_pointfromtext st_pointn st_pointonsurface st_setsrid st_simplify st_snaptogrid st_srid st_startpoint
    st_symdifference st_touches st_transform st_union st_within st_x st_xmax st_xmin st_y st_ymax st_ymin st_z stddev
    stddev_pop stddev_samp substr substring sum tan time timestamp to_char to_date translate trim trunc ucase upper
    user uuid var_pop var_samp variance version
"""
_POSTGRES = """
    abbrev acosd acosh age akeys any_value area array_agg array_append array_cat array_dims array_fill array_length
    array_lower array_ndims array_position array_positions array_prepend array_remove array_replace array_reverse
    array_sample array_shuffle array_sort array_to_json array_to_string array_to_tsvector array_upper asind asinh
    atan2d atand atanh avals bit bool bool_and bool_or box bpchar broadcast btrim cardinality casefold cbrt center
    cidr circle clock_timestamp col_description convert_from convert_to corr cosd cosh cosine_distance cotd covar_pop
    covar_samp crc32 crc32c current_catalog current_database current_role current_schema current_schemas currval
    daitch_mokotoff date_add date_bin date_part date_subtract date_trunc datemultirange daterange decode diagonal
    diameter difference div dmetaphone earth_distance encode enum_first enum_last enum_range erf erfc every factorial
    family first float4 float8 format_type gamma gcd gen_random_uuid generate_series generate_subscripts get_bit
    get_byte grouping has_any_column_privilege has_column_privilege has_database_privilege has_function_privilege
    has_schema_privilege has_sequence_privilege has_table_privilege has_type_privilege height host hostmask hstore
    inet inet_merge inet_same_family initcap inner_product int2 int4 int4multirange int4range int8 int8multirange
    int8range is_normalized isempty isfinite json_agg json_agg_strict json_array_elements json_array_elements_text
    json_build_array json_build_object json_each json_each_text json_extract_path json_extract_path_text
    json_object_agg_strict json_object_agg_unique json_object_keys json_populate_record json_populate_recordset
    json_scalar json_serialize json_strip_nulls json_to_record json_to_recordset json_to_tsvector json_typeof jsonb
    jsonb_agg jsonb_agg_strict jsonb_array_elements jsonb_array_elements_text jsonb_array_length jsonb_build_array
    jsonb_build_object jsonb_concat jsonb_contains jsonb_delete jsonb_delete_path jsonb_each jsonb_each_text
    jsonb_exists jsonb_extract_path jsonb_extract_path_text jsonb_insert jsonb_object jsonb_object_agg
    jsonb_object_keys jsonb_path_exists jsonb_path_exists_tz jsonb_path_match jsonb_path_match_tz jsonb_path_query
    jsonb_path_query_array jsonb_path_query_array_tz jsonb_path_query_first jsonb_path_query_first_tz
    jsonb_path_query_tz jsonb_populate_record jsonb_populate_recordset jsonb_pretty jsonb_set jsonb_set_lax
    jsonb_strip_nulls jsonb_to_record jsonb_to_recordset jsonb_to_tsvector jsonb_typeof justify_days justify_hours
    justify_interval l1_distance l2_distance last lastval lcm levenshtein lgamma line ll_to_earth lower_inc lower_inf
    lseg macaddr make_date make_interval make_time make_timestamp make_timestamptz masklen merge_action metaphone
    min_scale mode money multirange name netmask network nlevel normalize npoints num_nonnulls num_nulls numeric
    nummultirange numnode numrange obj_description oid overlaps overlay parse_ident path pclose pg_backend_pid
    pg_client_encoding pg_collation_for pg_column_size pg_database_size pg_get_constraintdef pg_get_expr
    pg_get_function_arguments pg_get_function_identity_arguments pg_get_function_result pg_get_functiondef
    pg_get_indexdef pg_get_partkeydef pg_get_ruledef pg_get_serial_sequence pg_get_triggerdef pg_get_userbyid
    pg_get_viewdef pg_has_role pg_indexes_size pg_is_in_recovery pg_partition_ancestors pg_partition_root
    pg_partition_tree pg_postmaster_start_time pg_relation_size pg_size_bytes pg_size_pretty pg_sleep
    pg_table_is_visible pg_table_size pg_timezone_names pg_total_relation_size pg_type_is_visible pg_typeof
    phraseto_tsquery plainto_tsquery point polygon popen querytree quote_ident quote_literal quote_nullable radius
    random random_normal range_agg range_intersect_agg range_merge regclass regexp_count regexp_match regexp_matches
    regexp_split_to_array regexp_split_to_table regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope
    regr_sxx regr_sxy regr_syy row_to_json scale set_bit set_byte set_masklen setweight sha224 sha256 sha384 sha512
    shobj_description show_trgm similarity sind sinh skeys slice slope soundex split_part starts_with
    statement_timestamp strict_word_similarity string_agg string_to_array string_to_table strip strpos subltree
    subpath svals tand tanh text time_bucket timeofday timestamptz timetz timezone to_ascii to_bin to_hex to_json
    to_jsonb to_number to_oct to_regclass to_regnamespace to_regproc to_regrole to_regtype to_timestamp to_tsquery
    to_tsvector transaction_timestamp trim_array trim_scale ts_delete ts_filter ts_headline ts_rank ts_rank_cd
    tsmultirange tsquery_phrase tsrange tstzmultirange tstzrange tsvector_to_array unaccent unicode_assigned
    unicode_version unistr unnest upper_inc upper_inf uuid_extract_timestamp uuid_extract_version uuid_generate_v4
    uuidv4 uuidv7 varbit varchar vector_dims websearch_to_tsquery width width_bucket word_similarity xid xml
    xml_is_well_formed xmlagg xmlcomment xmlconcat xmlelement xmlexists xmlforest xmlparse xmlpi xmlserialize xmltable
    xpath xpath_exists
"""
_MARIADB = """
    add_months adddate addtime aes_decrypt aes_encrypt any_value bin bin_to_uuid binary charset coercibility collation
    column_check column_exists column_get column_json column_list compress connection_id conv convert_tz crc32 crc32c
    curdate current_role curtime database date_add date_format date_sub datediff day dayname dayofmonth dayofweek
    dayofyear decode decode_histogram default elt encode encrypt export_set extractvalue field find_in_set
    format_pico_time found_rows from_base64 from_days from_unixtime geometrycollection get_format group_concat
    grouping hex hour inet6_aton inet6_ntoa inet_aton inet_ntoa insert instr interval is_ipv4 is_ipv4_compat
    is_ipv4_mapped is_ipv6 is_uuid isnull json_append json_array_append json_array_insert json_array_intersect
    json_compact json_contains json_contains_path json_depth json_detailed json_equals json_extract json_insert
    json_key_value json_keys json_length json_loose json_memberof json_merge json_merge_patch json_merge_preserve
    json_normalize json_object_filter_keys json_object_to_array json_overlaps json_overlay json_pretty json_quote
    json_remove json_replace json_schema_valid json_search json_set json_storage_size json_type json_unquote
    json_valid kdf last_day lengthb linestring locate log2 make_set makedate maketime match mbrcontains mbrdisjoint
    mbrequal mbrintersects mbroverlaps mbrtouches mbrwithin median member microsecond minute month monthname
    months_between multilinestring multipoint multipolygon name_const natural_sort_key nvl nvl2 oct old_password ord
    password period_add period_diff point polygon quarter rand regexp regexp_count row_count schema sec_to_time second
    sformat sha sha1 sha2 sleep soundex space st_aswkb st_aswkt st_exteriorring st_geometryfromtext st_glength
    st_interiorringn st_isclosed st_isring st_latitude st_linefromtext st_longitude st_numinteriorrings
    st_polyfromtext st_polygonfromtext std str_to_date strcmp subdate substring_index subtime system_user time_format
    time_to_sec timediff timestampadd timestampdiff to_base64 to_days to_number to_seconds truncate uncompress
    uncompressed_length unhex unix_timestamp updatexml utc_date utc_time utc_timestamp uuid_short uuid_to_bin values
    week weekday weekofyear weight_string year yearweek
"""
FUNCTIONS: dict[str, frozenset[str]] = {
    Engine.POSTGRES: frozenset((_COMMON + _POSTGRES).split()),
    Engine.MARIADB: frozenset((_COMMON + _MARIADB).split()),
}

# Words of SQL, types among them, before an opening parenthesis: they call nothing.
_SYNTAX = """
    against all and any array as asymmetric at between bigint binary bit by case char character collate columns cross
    cube dec decimal distinct div double else end escape except exists fetch filter float for force from full group
    having ignore ilike in index inner int integer intersect interval is join key lateral like limit materialized
    mediumint mod natural nchar next not null numeric nvarchar of offset on only operator or order outer over overlaps
    partition precision real regexp rlike rollup row select separator sets signed similar smallint some straight_join
    symmetric table then time timestamp timestamptz timetz tinyint to union unsigned use using values varbinary varchar
    varying when where window with within xmlnamespaces xor
"""

_CATALOG = """
    pg_aggregate pg_am pg_attrdef pg_attribute pg_auth_members pg_cast pg_class pg_collation pg_constraint pg_database
    pg_depend pg_description pg_enum pg_extension pg_foreign_table pg_index pg_indexes pg_inherits pg_language pg_locks
    pg_matviews pg_namespace pg_operator pg_partitioned_table pg_policies pg_policy pg_proc pg_publication
    pg_publication_tables pg_range pg_rewrite pg_roles pg_rules pg_sequence pg_sequences pg_shdepend pg_shdescription
    pg_stat_activity pg_stat_all_indexes pg_stat_all_tables pg_stat_database pg_stat_progress_analyze
    pg_stat_progress_create_index pg_stat_progress_vacuum pg_stat_ssl pg_stat_statements pg_stat_sys_indexes
    pg_stat_sys_tables pg_stat_user_functions pg_stat_user_indexes pg_stat_user_tables pg_statio_all_tables
    pg_statio_user_indexes pg_statio_user_tables pg_tables pg_tablespace pg_timezone_abbrevs pg_timezone_names
    pg_trigger pg_ts_config pg_type pg_user pg_views
"""
SYNTAX = frozenset(_SYNTAX.split())
_OPEN_IN_CATALOG = frozenset(_CATALOG.split())
_CLOSED_SCHEMAS: dict[str, frozenset[str]] = {
    Engine.POSTGRES: frozenset({"pg_toast"}),
    Engine.MARIADB: frozenset({"mysql", "performance_schema", "sys"}),
}


def may_read_table(dialect: str, schema: str, name: str) -> bool:
    """False for a table of the server's own that is not known to tell only about tables and activity."""
    schema, name = schema.lower(), name.lower()
    if schema == "information_schema":
        return name not in {"user_mapping_options", "foreign_server_options", "user_variables"}
    if dialect == Engine.POSTGRES and (schema == "pg_catalog" or (not schema and name.startswith("pg_"))):
        return name in _OPEN_IN_CATALOG
    return schema not in _CLOSED_SCHEMAS.get(dialect, frozenset())
